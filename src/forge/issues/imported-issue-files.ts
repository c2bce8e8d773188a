import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { openByRedirects } from '../../platform/outbound/downloads.ts'
import { OutboundError } from '../../platform/outbound/errors.ts'
import { downloadAttachment } from '../conversations/attachment-downloads.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { RecordError, storeImportedAttachment } from '../conversations/imported-attachments.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Repository } from '../repositories/schema.ts'
import type { ImportRecord } from './import-records.ts'
import * as rows from './issue-exchange.rows.ts'

/** Longest time without a byte of a file. */
const IDLE_TIMEOUT_MS = 60_000

/** Longer ones are no addresses of files. */
const MAX_ADDRESS_CHARACTERS = 2048

/** A file that a record names. */
interface RecordFile {
  /** Position of the issue among the issues of the import, from 0. */
  readonly issue: number
  /** The comment of the record, and its position from 0; undefined for the issue itself. */
  readonly comment?: { readonly record: ImportRecord; readonly position: number }
  readonly record: ImportRecord
}

/** Returns the files that the issues of an import have, in a fixed order. */
export function filesOfRecords(issues: readonly ImportRecord[]): RecordFile[] {
  return issues.flatMap((record, issue) => [
    ...record.parts('attachments').map((file) => ({ issue, record: file })),
    ...record
      .parts('comments')
      .flatMap((comment, position) =>
        comment
          .parts('attachments')
          .map((file) => ({ issue, comment: { record: comment, position }, record: file })),
      ),
  ])
}

/** Checks the files of records before anything is stored. @throws INVALID_FIELD */
export function checkFiles(files: readonly RecordFile[]): void {
  for (const { record } of files) {
    record.title('name')
    record.time('created_at')
    if (!addressIn(record)) record.refuse('url is the http or https address of a file')
  }
}

function addressIn(record: ImportRecord): URL | undefined {
  const text = record.text('url')
  if (text.length > MAX_ADDRESS_CHARACTERS || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}

/** An import whose issues are stored. */
interface ImportOfFiles {
  readonly id: number
  readonly importer: SignedIn
  readonly repository: Pick<Repository, 'id'>
  /** Cancels the download when the client goes. */
  readonly signal: AbortSignal
}

/**
 * Stores the files of an import that are not stored yet, one after the other, each in one transaction.
 * The content comes from this server if the importer may read the file, or from another server. A file
 * that cannot be read is left out and noted.
 *
 * @throws QUOTA_EXCEEDED
 */
export async function importIssueFiles(
  app: ReposApp,
  job: ImportOfFiles,
  files: readonly RecordFile[],
): Promise<void> {
  const found = files.length === 0 ? undefined : await rows.importById(app.db, job.id)
  if (!found) return
  const ids = rows.importedIds(found)
  for (let index = found.files_done; index < files.length; index += 1) {
    const file = files[index] as RecordFile
    const note = (tx: Tx, problem?: string) => rows.countFile(tx, job.id, index, problem)
    try {
      await importFile(app, job, ids[file.issue] ?? 0, file, (tx) => note(tx))
    } catch (error) {
      job.signal.throwIfAborted()
      const name = file.record.title('name')
      const problem = `${name}: ${problemOf(error)}`
      await transaction(app.db, (tx) => note(tx, problem))
    }
  }
}

async function importFile(
  app: ReposApp,
  { importer, repository, signal }: ImportOfFiles,
  conversationId: number,
  { comment, record }: RecordFile,
  note: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  const url = addressIn(record)
  const commentId = comment && (await commentOf(app, conversationId, comment))
  const isGone = (await findConversation(app.db, conversationId)) === undefined
  if (!url || isGone || (comment && commentId === undefined))
    throw new RecordError('its issue or comment was deleted')
  const uuid = /\/attachments\/([0-9a-f-]{36})$/.exec(url.pathname)?.[1] ?? ''
  const place = {
    repositoryId: repository.id,
    conversationId,
    commentId: commentId ?? null,
    uploaderId: importer.user.id,
  }
  const file = {
    name: record.title('name'),
    createTime: record.time('created_at') ?? 0,
    uuid,
    link: url.href,
  }
  const isHere = uuid !== '' && url.href.startsWith(`${app.publicUrl()}/`)
  const open = () => (isHere ? contentHere(app, importer, uuid) : contentAt(app, url, signal))
  await storeImportedAttachment(app, place, file, { open, note })
}

/** Returns the id of a comment that was stored; undefined if comments were deleted since. */
async function commentOf(
  app: ReposApp,
  conversationId: number,
  { record, position }: NonNullable<RecordFile['comment']>,
): Promise<number | undefined> {
  const stored = await rows.commentTimesOf(app.db, conversationId)
  const found = stored[position]
  const time = record.time('created_at')
  return time === null || found?.create_time === time ? found?.id : undefined
}

async function contentHere(
  app: ReposApp,
  importer: SignedIn,
  uuid: string,
): Promise<AsyncIterable<Uint8Array>> {
  const whole = { rangeText: undefined, isCounted: false, redirectMethod: undefined }
  return (await downloadAttachment(app, importer, uuid, undefined, whole)).chunks
}

async function contentAt(
  app: ReposApp,
  url: URL,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const headers = { 'user-agent': 'branchline', accept: 'application/octet-stream' }
  const options = { idleTimeoutMs: IDLE_TIMEOUT_MS, signal }
  const response = await openByRedirects(app.outbound, url, () => headers, options)
  if (response?.status === 200) return response.body
  response?.body.destroy()
  throw new RecordError(
    response ? `the other server answers ${response.status}` : 'there are too many redirects',
  )
}

const FAILURES: Readonly<Record<OutboundError['failure'], string>> = {
  UNRESOLVABLE_HOST: 'the host cannot be resolved',
  BLOCKED_ADDRESS: 'the host has a private or reserved address',
  CONNECTION_FAILED: 'the connection failed',
  TIMEOUT: 'the other server took too long',
  CANCELLED: 'the request was cancelled',
}

const REFUSALS: Readonly<Record<string, string>> = {
  ATTACHMENT_NOT_FOUND: 'this server has no such file',
  SCOPE_MISSING: 'the token may not read the file',
  ATTACHMENT_TOO_LARGE: 'the file is larger than this server allows',
}

/** Returns why a file is left out. @throws what is no fault of the file. */
function problemOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (error instanceof OutboundError) return FAILURES[error.failure]
  const refusal = error instanceof DomainError ? REFUSALS[error.reason] : undefined
  if (refusal === undefined) throw error
  return refusal
}
