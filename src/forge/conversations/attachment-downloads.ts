import { type Caller, requireScope } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { openRepository, openRepositoryById } from '../repositories/access/permissions.ts'
import {
  type Download,
  type DownloadRequest,
  openDownload,
} from '../repositories/attachments/stored-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { findAttachment } from '../repositories/releases/release-assets.rows.ts'
import { download } from '../repositories/releases/release-assets.ts'
import { shownTypeOf } from './attachment-types.ts'
import { countAttachmentDownload, findAttachmentByUuid } from './attachments.rows.ts'
import { readsKind } from './conversation-readers.ts'
import { findConversation } from './conversations.rows.ts'
import type { IssueAttachment } from './schema.ts'
import { unlinkedSince } from './unlinked-uploads.ts'

/** A file that a client downloads, and how browsers treat it. */
export interface AttachmentDownload extends Download {
  /** The media type of a file that browsers show; undefined for one that they only store. */
  readonly shownType: string | undefined
  /** Whether the file is a release asset. */
  readonly isAsset: boolean
}

/**
 * Returns the content of an attachment or of a release asset, to a caller who may read what has it.
 *
 * @param name the repository that is to have the file; undefined for any.
 * @throws ATTACHMENT_NOT_FOUND, also without access; SCOPE_MISSING, RANGE_NOT_SATISFIABLE; as
 *   `openRepository` for the name.
 */
export async function downloadAttachment(
  app: ReposApp,
  caller: Caller,
  uuid: string,
  name: RepositoryName | undefined,
  request: DownloadRequest,
): Promise<AttachmentDownload> {
  const named = name && (await openRepository(app, caller, name, 'none', 'issues'))
  const isElsewhere = (repositoryId: number) => named && named.repository.id !== repositoryId
  const attachment = await findAttachmentByUuid(app.db, uuid)
  if (!attachment) {
    const asset = await findAttachment(app.db, uuid)
    if (!asset || isElsewhere(asset.repository_id)) throw missing()
    const found = await download(app, caller, uuid, request).catch(asMissing)
    return { ...found, shownType: undefined, isAsset: true }
  }
  if (isElsewhere(attachment.repository_id) || !(await mayRead(app, caller, attachment)))
    throw missing()
  requireScope(caller, 'read:issue')
  const count = () => countAttachmentDownload(app.db, attachment.id)
  const found = await openDownload(app, attachment, request, count, missing)
  return { ...found, shownType: shownTypeOf(attachment.name), isAsset: false }
}

/** Returns whether a caller may read what has an attachment. An unlinked upload is its uploader's. */
async function mayRead(
  app: ReposApp,
  caller: Caller,
  { repository_id, issue_id, uploader_id, create_time }: IssueAttachment,
): Promise<boolean> {
  const open = await openRepositoryById(app, caller, repository_id, 'none', 'issues').catch(
    nothingInstead,
  )
  if (!open) return false
  if (issue_id === null) {
    const isOwn = caller.kind === 'user' && caller.user.id === uploader_id
    return isOwn && create_time >= unlinkedSince(app)
  }
  const conversation = await findConversation(app.db, issue_id)
  return conversation !== undefined && readsKind(open.units, conversation)
}

function nothingInstead(error: unknown): undefined {
  if (!(error instanceof DomainError)) throw error
}

function asMissing(error: unknown): never {
  const isMissing = error instanceof DomainError && error.reason === 'ASSET_NOT_FOUND'
  throw isMissing ? missing() : error
}

function missing(): DomainError {
  return new DomainError('ATTACHMENT_NOT_FOUND')
}
