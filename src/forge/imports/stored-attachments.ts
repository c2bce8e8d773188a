import { transaction } from '../../platform/database/database.ts'
import { checkFileName, MAX_ATTACHMENTS, uploadRules } from '../conversations/attachment-rules.ts'
import { countAttachments, insertIssueAttachment } from '../conversations/attachments.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { storeFile } from '../repositories/attachments/stored-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { FileSource } from './import-items.ts'
import { relinkTexts } from './imported-texts.rows.ts'
import type { AttachmentRecord } from './project-records.ts'
import { RecordError } from './stored-records.ts'

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
export async function storeAttachment(
  app: ReposApp,
  { repositoryId, conversationId, commentId, uploaderId }: Place,
  record: AttachmentRecord,
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
function linksTo({ uuid, link }: AttachmentRecord): string[] {
  if (uuid === '') return []
  const short = `/attachments/${uuid}`
  if (link.length > MAX_LINK_CHARACTERS || !link.endsWith(short) || !URL.canParse(link))
    return [short]
  return [...new Set([link, new URL(link).pathname, short])]
}
