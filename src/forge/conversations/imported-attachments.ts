import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { storeFile } from '../repositories/attachments/stored-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { checkFileName, MAX_ATTACHMENTS, uploadRules } from './attachment-rules.ts'
import { countAttachments, insertIssueAttachment } from './attachments.rows.ts'
import { relinkTexts } from './imported-texts.rows.ts'

/** A record that cannot be stored. The message is for users. */
export class RecordError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RecordError'
  }
}

/** Where the content of a file comes from, and how its row is noted. */
export interface FileSource {
  /** Opens the content at the other server. */
  open(): Promise<AsyncIterable<Uint8Array>>
  /** Notes in the transaction of the row that the file is stored. @returns false if it was before. */
  note(tx: Tx): Promise<boolean>
}

/** A file of an issue, a pull request or a comment, which their texts show by a link. */
export interface ImportedAttachment {
  readonly name: string
  /** Unix seconds; 0 for now. */
  readonly createTime: number
  /** Names the file in links: `/attachments/{uuid}`; empty if it is not known. */
  readonly uuid: string
  /** The whole address in links; empty if it is not known. */
  readonly link: string
}

/** What an attachment belongs to. */
interface Place {
  readonly repositoryId: number
  readonly conversationId: number
  /** Null for the conversation itself. */
  readonly commentId: number | null
  readonly uploaderId: number
}

/** Longer ones are no addresses of files. */
const MAX_LINK_CHARACTERS = 2048

/**
 * Stores an attachment while it is downloaded, and makes the texts of its conversation link to it.
 *
 * @throws RecordError, ATTACHMENT_TOO_LARGE, QUOTA_EXCEEDED, and what `open` throws.
 */
export async function storeImportedAttachment(
  app: ReposApp,
  { repositoryId, conversationId, commentId, uploaderId }: Place,
  record: ImportedAttachment,
  { open, note }: FileSource,
): Promise<void> {
  checkName(app, record.name)
  if ((await countAttachments(app.db, conversationId)) >= MAX_ATTACHMENTS)
    throw new RecordError(`a conversation has at most ${MAX_ATTACHMENTS} files`)
  const content = await open()
  const upload = { caller: undefined, repositoryId, kind: 'issues', content } as const
  await storeFile(app, upload, uploadRules(app), async (file, checkQuota) => {
    const row = {
      repository_id: repositoryId,
      issue_id: conversationId,
      comment_id: commentId,
      uploader_id: uploaderId,
      ...file,
      name: record.name,
      create_time: record.createTime || nowSeconds(app.clock),
    }
    await transaction(app.db, async (tx) => {
      await checkQuota(tx)
      if (!(await note(tx))) throw new RecordError('the file is imported already')
      await insertIssueAttachment(tx, row)
      await relinkTexts(tx, conversationId, linksTo(record), `/attachments/${file.uuid}`)
    })
  })
}

/** @throws RecordError */
function checkName(app: ReposApp, name: string): void {
  try {
    checkFileName(app, name)
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    throw new RecordError('the name or the type of the file is not allowed')
  }
}

/** Returns the links to a file in texts, the longest first: each may be a part of the one before. */
function linksTo({ uuid, link }: ImportedAttachment): string[] {
  if (uuid === '') return []
  const short = `/attachments/${uuid}`
  if (link.length > MAX_LINK_CHARACTERS || !link.endsWith(short) || !URL.canParse(link))
    return [short]
  return [...new Set([link, new URL(link).pathname, short])]
}
