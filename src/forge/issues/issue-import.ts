import { createHash } from 'node:crypto'
import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { findUserByUsername } from '../accounts/users/owners.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import type { Conversation } from '../conversations/schema.ts'
import { recordImportedReferences } from '../conversations/text-references.ts'
import { holderOf, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { checkNotArchived, openRepository } from '../repositories/access/permissions.ts'
import { findAuthors } from '../repositories/commits/commit-authors.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { ExchangeRecord, RecordValue } from './exchange-records.ts'
import { ImportRecord } from './import-records.ts'
import { findNamedCommits, type KnownCommits, storeCommitReferences } from './imported-commits.ts'
import { storeEvents } from './imported-events.ts'
import { checkFiles, filesOfRecords, importIssueFiles } from './imported-issue-files.ts'
import { storeRecord, type Users } from './imported-issues.ts'
import { type ImportedIssue, othersOf, storeLinks, type Wait } from './imported-links.ts'
import { insertWaits } from './imported-waits.rows.ts'
import { completeWaits } from './imported-waits.ts'
import * as rows from './issue-exchange.rows.ts'

const LIFETIME_S = 24 * 60 * 60

/** Maximum number of records of a request. */
const MAX_RECORDS = 100

/** An import as a client requests it. */
export interface ImportRequest {
  readonly records: readonly ExchangeRecord[]
  readonly requestId: string
  /** Usernames here by logins in the records. */
  readonly users: Readonly<Record<string, string>>
  /** Undefined means true. */
  readonly preserveNumbers?: boolean | undefined
  readonly validateOnly: boolean
}

/** The order in which records are stored: issues name labels and milestones. */
const KINDS = ['label', 'milestone', 'issue']

/**
 * Imports records, each in one transaction: then what issues have to do with others, and then the files.
 * A repeated request continues where the first one stopped.
 *
 * @param signal cancels downloads.
 * @returns the id of the import; 0 for a request that is only checked.
 * @throws as `openRepository`; REPOSITORY_ARCHIVED, INVALID_FIELD,
 *   INVALID_REQUEST_ID, REQUEST_ID_REUSED, IMPORT_CONFLICT, QUOTA_EXCEEDED, TOO_MANY_COPIES
 */
export async function importIssues(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  request: ImportRequest,
  signal: AbortSignal,
): Promise<number> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const keepsNumbers = request.preserveNumbers ?? true
  const records = readRecords(request.records)
  const users = await findUsers(app, caller, request)
  const { id: userId } = caller.user
  const { requestId: request_id } = request
  if (request_id !== '' && !/^[\x20-\x7e]{1,64}$/.test(request_id))
    throw new DomainError('INVALID_REQUEST_ID')
  const digest = createHash('sha256')
    .update(JSON.stringify([request.records, request.users, keepsNumbers]))
    .digest('hex')
  const before =
    request_id === '' || request.validateOnly
      ? undefined
      : await rows.findRequestedImport(app.db, repository.id, userId, request_id)
  const now = nowSeconds(app.clock)
  const recent = before && before.create_time >= now - LIFETIME_S ? before : undefined
  if (recent && recent.digest !== digest)
    throw new DomainError('REQUEST_ID_REUSED', { request_id: metadataText(request_id) })
  const rest = records.slice(recent?.done ?? 0)
  if (keepsNumbers) await checkNumbers(app, repository.id, rest)
  const files = filesOfRecords(issuesIn(records))
  checkFiles(files)
  const commits = await findNamedCommits(app, repository.id, issuesIn(records))
  const work = { importer: caller, repository, users, keepsNumbers, records, commits, now }
  if (request.validateOnly) return check(app, work)
  const row = { repository_id: repository.id, user_id: userId, request_id, digest }
  const counts = { total: records.length, files: files.length, create_time: now }
  const { id, done } =
    recent ??
    (await transaction(app.db, (tx) =>
      rows.insertImport(tx, { ...row, ...counts }, now - LIFETIME_S),
    ))
  for (const [index, record] of rest.entries())
    await transaction(app.db, async (tx) => {
      // Another request with the same id may have stored the record.
      const counted = await rows.countRecord(tx, id, done + index)
      if (!counted) return
      const present = await findRepositoryById(tx, repository.id)
      if (!present) throw new DomainError('REPOSITORY_NOT_FOUND')
      checkNotArchived(present)
      const target = { repository: present, users, keepsNumbers }
      const issueId = await storeRecord(tx, target, record, now)
      if (issueId !== undefined) await rows.addImportedIssue(tx, counted, issueId)
    })
  const linkNext = (tx: Tx) => linkNextIssue(app, tx, work, id)
  while (await transaction(app.db, linkNext));
  await completeWaits(app, { id, importer: caller, repository })
  const job = { id, importer: caller, repository, signal }
  const bring = () => importIssueFiles(app, job, files)
  if (files.length > 0) await app.copies(holderOf(caller), bring)
  return id
}

/** What an import stores, and for whom. */
interface ImportWork extends Pick<ImportedIssue, 'importer' | 'repository' | 'keepsNumbers'> {
  readonly users: Users
  readonly records: readonly ImportRecord[]
  /** Those that the records name. */
  readonly commits: KnownCommits
  /** Unix seconds. */
  readonly now: number
}

function issuesIn(records: readonly ImportRecord[]): ImportRecord[] {
  return records.filter((record) => record.text('kind') === 'issue')
}

/**
 * Stores the events, the links and the references of the next issue of an import, all of whose issues are
 * stored. @returns false if no issue was left.
 */
async function linkNextIssue(
  app: ReposApp,
  tx: Tx,
  work: ImportWork,
  importId: number,
): Promise<boolean> {
  const next = await rows.countReferring(tx, importId)
  if (!next) return false
  const found = await rows.importById(tx, importId)
  const ids = found ? rows.importedIds(found) : []
  const { problems, waits } = await linkIssue(app, tx, work, ids, next.position)
  const conversation = await findConversation(tx, next.id)
  // The issue may be deleted meanwhile.
  if (!conversation) return true
  const named = await makeReferences(app, tx, work.importer, conversation)
  const place = { import_id: importId, repository_id: work.repository.id, issue_id: next.id }
  const all = [...waits, ...(work.keepsNumbers ? named : [])].map((one) => ({ ...one, ...place }))
  const doesWait = await insertWaits(tx, work.repository.id, all)
  const tooMany = `issue ${conversation.number}: too much waits for issues that are not here`
  await rows.addProblems(tx, importId, doesWait ? problems : [...problems, tooMany])
  return true
}

/** What an issue of an import has no other issue for. */
interface Missing {
  readonly problems: readonly string[]
  readonly waits: readonly Wait[]
}

/** @returns what was left out, and what waits for a later request. */
async function linkIssue(
  app: ReposApp,
  tx: Tx,
  { users, records, commits, now, ...work }: ImportWork,
  ids: readonly number[],
  position: number,
): Promise<Missing> {
  const issues = issuesIn(records)
  const [record, id] = [issues[position], ids[position]]
  if (!record || id === undefined || !(await findConversation(tx, id)))
    return { problems: [], waits: [] }
  const problems = new Set<string>()
  const waits: Wait[] = []
  const byNumber = issues.map((one, i) => [one.number('number'), ids[i] ?? 0] as const)
  const nameOfIssue = `issue ${record.number('number') || record.text('title').slice(0, 100)}`
  const issue = {
    ...work,
    id,
    record,
    nameOfIssue,
    waits,
    ids: new Map(byNumber.filter(([number]) => number > 0)),
    leftOut: (message: string) => problems.add(`${nameOfIssue}: ${message}`),
  }
  const find = await othersOf(app, tx, issue)
  await storeEvents(tx, issue, users, find, now)
  await storeCommitReferences(tx, issue, users, commits, now)
  await storeLinks(tx, issue, find)
  return { problems: [...problems], waits }
}

/**
 * Makes the references of the texts of an issue, as far as the importer may read what they name.
 *
 * @returns the references to issues that are not here.
 */
async function makeReferences(
  app: ReposApp,
  tx: Tx,
  importer: SignedIn,
  conversation: Conversation,
): Promise<Wait[]> {
  const comments = await rows.commentsOfIssues(tx, [conversation.id])
  const waits: Wait[] = []
  for (const text of [conversation, ...comments]) {
    const { poster_id: writer_id, create_time } = text
    const comment_id = text === conversation ? null : text.id
    const source = { conversation, ...(comment_id !== null && { commentId: comment_id }), text }
    const writing = { writer_id, create_time }
    for (const number of await recordImportedReferences(app, tx, importer, source, writing))
      waits.push({ number, comment_id, kind: 'text', entry: '', problem: '' })
  }
  return waits
}

/** Stores records and takes them back. */
async function check(app: ReposApp, work: ImportWork): Promise<0> {
  class Checked extends Error {}
  const { repository, users, keepsNumbers, records, now } = work
  const tryOut = async (tx: Tx) => {
    const ids: number[] = []
    for (const record of records) {
      const id = await storeRecord(tx, { repository, users, keepsNumbers }, record, now)
      if (id !== undefined) ids.push(id)
    }
    for (const position of ids.keys()) await linkIssue(app, tx, work, ids, position)
    throw new Checked()
  }
  await transaction(app.db, tryOut).catch((error: unknown) => {
    if (!(error instanceof Checked)) throw error
  })
  return 0
}

/**
 * Returns an import of a repository.
 *
 * @throws as `openRepository`; ISSUE_NOT_FOUND for none.
 */
export async function getImport(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
): Promise<rows.Import> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const found = Number.isSafeInteger(id) && (await rows.findImport(app.db, repository.id, id))
  if (!found) throw new DomainError('ISSUE_NOT_FOUND')
  return found
}

/** Returns whether all records and files are stored and all references are made. */
export function isDone({ issue_ids, ...found }: rows.Import): boolean {
  const { done, total, referring, files, files_done } = found
  const areLinked = referring === rows.importedIds({ issue_ids }).length
  return done === total && areLinked && files_done === files
}

/** Returns what an import has left out, as messages for users. */
export function leftOutOf(found: rows.Import): readonly string[] {
  return rows.problemsOf(found)
}

/** Returns the records in the order in which they are stored. */
function readRecords(values: readonly ExchangeRecord[]): ImportRecord[] {
  if (values.length === 0 || values.length > MAX_RECORDS)
    throw new DomainError('INVALID_FIELD', { field: 'records', rule: `1 to ${MAX_RECORDS}` })
  const records = values.map((value, i) => new ImportRecord(value, `record ${i + 1}`))
  const rank = (record: ImportRecord) => KINDS.indexOf(record.text('kind'))
  for (const record of records)
    if (rank(record) < 0) record.refuse(`kind is one of ${KINDS.join(', ')}`)
  return records.sort((a, b) => rank(a) - rank(b) || a.number('number') - b.number('number'))
}

/** Checks that the numbers of issues are free, and that each occurs once. */
async function checkNumbers(
  app: ReposApp,
  repositoryId: number,
  records: readonly ImportRecord[],
): Promise<void> {
  const numbers = records
    .filter((record) => record.text('kind') === 'issue')
    .map((record) => record.number('number'))
    .filter((number) => number > 0)
  const used = await rows.usedNumbers(app.db, repositoryId, numbers)
  const conflict = numbers.find((number, i) => used.has(number) || numbers.indexOf(number) < i)
  if (conflict !== undefined) throw new DomainError('IMPORT_CONFLICT', { number: String(conflict) })
}

/** Returns the users here whom the request names, or whose verified address a record has. */
async function findUsers(
  app: ReposApp,
  caller: SignedIn,
  { users: names, records }: ImportRequest,
): Promise<Users> {
  const byLogin = new Map<string, number>()
  for (const [login, name] of Object.entries(names)) {
    const user = await findUserByUsername(app.db, name)
    if (!user)
      throw new DomainError('INVALID_FIELD', {
        field: 'users',
        rule: `no user is ${metadataText(name)}`,
      })
    byLogin.set(login, user.id)
  }
  const authors = await findAuthors(app, caller, records.flatMap(emailsIn))
  const byEmail = new Map([...authors].map(([email, { id }]) => [email, id]))
  return { byLogin, byEmail }
}

/** Returns the addresses of the people in a record. */
function emailsIn(value: RecordValue): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(emailsIn)
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'email' && typeof one === 'string' ? [one] : emailsIn(one),
  )
}
