import { transaction } from '../../platform/database/database.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { checkNotArchived, type OpenRepository } from '../repositories/access/permissions.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import { storeFile } from '../repositories/attachments/stored-files.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import {
  type AttachmentUpload,
  checkCount,
  checkFileName,
  uploadRules,
} from './attachment-rules.ts'
import * as rows from './attachments.rows.ts'
import { checkConversation } from './conversation-needs.ts'
import { openConversations } from './conversation-readers.ts'
import type { IssueAttachment } from './schema.ts'

/** Uploads of a user that nothing has taken yet. */
const MAX_UNLINKED = 50

/** An upload that nothing takes ends after 24 hours. */
const UNLINKED_SECONDS = 24 * 60 * 60

const SWEEP_INTERVAL_MS = 60 * 60_000

/**
 * Stores an upload that an issue or a comment is to take.
 *
 * @param read starts reading the upload, after the caller was checked.
 * @throws as `openConversations`; REPOSITORY_ARCHIVED, USER_BLOCKED, INVALID_FIELD,
 *   ATTACHMENT_TYPE_REFUSED, ATTACHMENT_TOO_LARGE, TOO_MANY_ATTACHMENTS, QUOTA_EXCEEDED
 */
export async function addUnlinkedUpload(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  read: () => Promise<AttachmentUpload>,
): Promise<IssueAttachment> {
  const { repository } = await openForUploads(app, caller, name)
  const upload = await read()
  checkFileName(app, upload.name)
  await checkUnlinked(app.db, caller)
  const { content } = upload
  const stored = { caller, repositoryId: repository.id, kind: 'issues', content } as const
  return storeFile(app, stored, uploadRules(app), async (file, checkQuota) => {
    const again = await openForUploads(app, caller, name)
    if (again.repository.id !== repository.id) throw new DomainError('REPOSITORY_NOT_FOUND')
    return transaction(app.db, async (tx) => {
      await checkQuota(tx)
      const present = await findRepositoryById(tx, repository.id)
      if (!present) throw new DomainError('REPOSITORY_NOT_FOUND')
      checkNotArchived(present)
      await checkUnlinked(tx, caller)
      return rows.insertIssueAttachment(tx, {
        repository_id: repository.id,
        issue_id: null,
        comment_id: null,
        uploader_id: caller.user.id,
        ...file,
        name: upload.name,
        create_time: nowSeconds(app.clock),
      })
    })
  })
}

async function openForUploads(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openConversations(app, caller, name)
  checkNotArchived(open.repository)
  await checkConversation(app.db, caller, open, { poster_id: null, lock_reason: null }, 'no block')
  return open
}

async function checkUnlinked(db: Db, { user }: SignedIn): Promise<void> {
  if ((await rows.countUnlinked(db, user.id)) >= MAX_UNLINKED)
    throw new DomainError('TOO_MANY_ATTACHMENTS', { limit: String(MAX_UNLINKED) })
}

/** The uploads that a new issue or comment takes. */
export interface UploadsToLink {
  readonly repositoryId: number
  readonly uuids: readonly string[]
}

/**
 * Gives uploads of the caller to a new issue or comment.
 *
 * @throws ATTACHMENT_NOT_FOUND, TOO_MANY_ATTACHMENTS
 */
export async function linkUploads(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  { repositoryId, uuids }: UploadsToLink,
  holder: rows.AttachmentHolder,
): Promise<void> {
  const distinct = new Set(uuids)
  if (distinct.size === 0) return
  checkCount(await rows.countAttachments(tx, holder.conversationId), distinct.size)
  const sinceTime = unlinkedSince(app)
  for (const uuid of distinct) {
    const upload = { uuid, repositoryId, uploaderId: caller.user.id, sinceTime }
    if (!(await rows.linkUpload(tx, upload, holder))) throw new DomainError('ATTACHMENT_NOT_FOUND')
  }
}

/** Returns the Unix seconds from which on uploads that nothing has taken are kept. */
export function unlinkedSince({ clock }: ReposApp): number {
  return nowSeconds(clock) - UNLINKED_SECONDS
}

/** The periodic removal of uploads that nothing has taken in time. */
interface UploadSweeps {
  /** Starts no more sweeps. */
  stop(): void
}

/** Starts a sweep now, and another one every hour. */
export function startUploadSweeps(app: ReposApp): UploadSweeps {
  const sweep = () => app.background.run('sweep uploads', () => sweepUploads(app))
  sweep()
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS)
  return { stop: () => clearInterval(timer) }
}

/** Deletes the uploads that nothing has taken in time. */
export async function sweepUploads(app: ReposApp): Promise<void> {
  await transaction(app.db, (tx) => rows.deleteUnlinkedBefore(tx, unlinkedSince(app)))
  deleteDiscardedFiles(app)
}
