import { transaction } from '../../platform/database/database.ts'
import {
  allRepositoryIds,
  databaseProblems,
  uncheckedParts,
} from '../../platform/database/maintenance.ts'
import type { Db } from '../../platform/database/schema.ts'
import { damagedFiles, removeDamaged } from '../../platform/git/maintenance/derived-files.ts'
import {
  checkObjects,
  removeLock,
  repositoryFolders,
  staleLocks,
} from '../../platform/git/repositories/examination.ts'
import { findLeftovers, removeLeftover } from '../../platform/git/repositories/leftovers.ts'
import { deleteRepository, repositoryExists } from '../../platform/git/repositories/repositories.ts'
import { type ObjectStore, StoreUnavailableError } from '../../platform/objects/object-store.ts'
import { findAttachmentByUuid } from '../conversations/attachments.rows.ts'
import { countSearch, fillSearch } from '../migrations/0060-search.ts'
import { examineBrought } from '../pulls/changes/pull-commits.ts'
import { examineHeads } from '../pulls/heads/pull-heads.ts'
import { examineQueueRefs } from '../pulls/queue/queue-refs.ts'
import { ATTACHMENT_KEYS, attachmentKey } from '../repositories/attachments/attachment-files.ts'
import type { ContentStore } from '../repositories/attachments/schema.ts'
import { isStorageDeletionQueued } from '../repositories/attachments/storage-deletions.rows.ts'
import { LfsError } from '../repositories/lfs/lfs-error.ts'
import type { LfsObjectId } from '../repositories/lfs/lfs-links.ts'
import { LFS_KEYS, lfsKey, verifiedContent } from '../repositories/lfs/lfs-objects.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { listPaused, putMaintenance } from '../repositories/maintenance/maintenance.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { compareRefIndex, syncRefIndex } from '../repositories/refs/ref-index.ts'
import { findAttachment } from '../repositories/releases/release-assets.rows.ts'
import { examineCodeIndex } from '../repositories/search/code-index-checks.ts'
import { wrongCounters } from './counters.rows.ts'
import { wrongRepetitions } from './repeated-columns.rows.ts'
import { issueFiles, lfsContents, lfsPlaces, releaseFiles } from './stored-file-rows.ts'

/** A problem in the data. */
export interface Finding {
  /** The affected part of the data, such as `repository 7`. */
  readonly subject: string
  readonly problem: string
  /** Whether the problem was repaired, or can be; for the operator. */
  readonly outcome:
    | 'repaired'
    | '--fix repairs it'
    | 'its owner can repair it'
    | 'the server tries again'
    | 'cannot be repaired: restore a backup'
}

interface Examination {
  /** Whether Git also checks every object. */
  readonly fsck: boolean
  /** Whether to repair. No other process may use the data during a repair. */
  readonly fix: boolean
}

/**
 * Compares rows with repositories, and repairs the differences that have one right answer: Git is
 * right about refs, and rows are right about the existence of repositories. Beside a running
 * server, changes in progress may be reported as problems.
 */
export async function* examine(
  app: ReposApp,
  { fsck, fix }: Examination,
): AsyncGenerator<Finding, void, undefined> {
  for (const problem of await databaseProblems(app.db))
    yield { subject: 'the database', problem, outcome: IRREPARABLE }
  yield* examineCounters(app.db, fix)
  const ids = await allRepositoryIds(app.db)
  for (const id of ids) yield* examineRepository(app, id, { fsck, fix })
  yield* examineMaintenance(app)
  for await (const { repositoryId, text, repair } of examineCodeIndex(app))
    yield await repairable(fix, `repository ${repositoryId}`, text, repair)
  yield* examineFolders(app, fix)
  yield* examineAttachments(app, { fsck, fix })
  yield* examineLfs(app, { fsck, fix })
}

/** Returns what `examine` cannot check, for the operator; undefined for nothing. */
export function notExamined({ db }: ReposApp): Promise<string | undefined> {
  return uncheckedParts(db)
}

const IRREPARABLE = 'cannot be repaired: restore a backup'

async function* examineCounters(db: Db, fix: boolean): AsyncGenerator<Finding> {
  for await (const { table, column, key, stored, actual, repair } of wrongCounters(db))
    yield await repairable(
      fix,
      `the row ${key} of ${table}`,
      `its ${column} is ${stored}, and there are ${actual}`,
      repair,
    )
  for await (const { table, key, repair } of wrongRepetitions(db))
    yield await repairable(
      fix,
      `the rows ${key} of ${table}`,
      'they repeat other values than their source has',
      repair,
    )
  const { texts, indexed } = await countSearch(db)
  if (texts !== indexed)
    yield await repairable(
      fix,
      'the search index',
      `it has ${indexed} texts of conversations, and there are ${texts}`,
      () => rebuildSearch(db),
    )
}

/** Writes the words of all conversations to the search index, in place of what is there. */
export function rebuildSearch(db: Db): Promise<void> {
  return transaction(db, fillSearch)
}

async function* examineRepository(
  app: ReposApp,
  id: number,
  { fsck, fix }: Examination,
): AsyncGenerator<Finding> {
  const subject = `repository ${id}`
  if (!(await repositoryExists(app.git, id))) {
    // The repository may have been deleted since the list was read.
    if (await findRepositoryById(app.db, id))
      yield { subject, problem: 'its folder is missing', outcome: IRREPARABLE }
    return
  }
  try {
    for (const path of await staleLocks(app.git, id, app.clock.now())) {
      yield await repairable(fix, subject, `${path} is the lock of a process that has ended`, () =>
        removeLock(app.git, id, path),
      )
    }
    for (const path of await findLeftovers(app.git, id, app.clock.now())) {
      yield await repairable(
        fix,
        subject,
        `${path} was left behind by a process that has ended`,
        () => removeLeftover(app.git, id, path),
      )
    }
    const differences = await compareRefIndex(app, id)
    if (fix && differences.length > 0) await syncRefIndex(app, id)
    for (const problem of differences)
      yield { subject, problem, outcome: fix ? 'repaired' : '--fix repairs it' }
    for (const { text, repair } of await examineHeads(app, id))
      yield await repairable(fix, subject, text, repair)
    for (const { text, repair } of await examineQueueRefs(app, id))
      yield await repairable(fix, subject, text, repair)
    for await (const { text, repair } of examineBrought(app, id))
      yield await repairable(fix, subject, text, repair)
    if (!fsck) return
    for (const path of await damagedFiles(app.git, id))
      yield await repairable(fix, subject, `${path} is damaged`, async () => {
        await removeDamaged(app.git, id, path)
        await transaction(app.db, (tx) => putMaintenance(tx, id, { check_time: app.clock.now() }))
      })
    for (const problem of await checkObjects(app.git, id))
      yield { subject, problem, outcome: IRREPARABLE }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    yield { subject, problem: `it cannot be read: ${reason}`, outcome: IRREPARABLE }
  }
}

async function* examineMaintenance({ db, clock }: ReposApp): AsyncGenerator<Finding> {
  for (const { repository_id, error, pause_time } of await listPaused(db, clock.now())) {
    const until = new Date(pause_time ?? 0).toISOString()
    yield {
      subject: `repository ${repository_id}`,
      problem: `its maintenance failed and is paused until ${until}: ${error}`,
      outcome: 'the server tries again',
    }
  }
}

async function* examineFolders(app: ReposApp, fix: boolean): AsyncGenerator<Finding> {
  for await (const id of repositoryFolders(app.git)) {
    // A repository's row is created before its folder, and deleted before it.
    if (await findRepositoryById(app.db, id)) continue
    yield await repairable(fix, `repository ${id}`, 'nothing leads to its folder', () =>
      deleteRepository(app.git, id),
    )
  }
}

/** An attachment's row is created after its file, and deleted before it. */
async function* examineAttachments(
  app: ReposApp,
  { fsck, fix }: Examination,
): AsyncGenerator<Finding> {
  try {
    for (const rowsOf of [releaseFiles, issueFiles]) {
      for await (const { uuid, repository_id, bytes, store } of rowsOf(app.db)) {
        const key = attachmentKey(repository_id, uuid)
        const found = await sizeOf(app.objects.of(store), key, fsck)
        if (found === bytes) continue
        const problem =
          found === undefined ? 'its file is missing' : `its file has ${found} bytes, not ${bytes}`
        yield { subject: `attachment ${uuid}`, problem, outcome: IRREPARABLE }
      }
    }
    for (const store of app.objects.all) yield* examineOrphans(app, store, fix)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    yield {
      subject: 'the object storage',
      problem: error.message,
      outcome: 'its owner can repair it',
    }
  }
}

/** Returns the size of a file, which is read if Git reads its objects too. */
async function sizeOf(
  store: ObjectStore,
  key: string,
  isRead: boolean,
): Promise<number | undefined> {
  if (!isRead) return store.size(key)
  const opened = await store.get(key)
  if (!opened) return undefined
  let bytes = 0
  for await (const chunk of opened.content) bytes += chunk.length
  return bytes
}

/** Files whose deletion is queued are no problem. */
async function* examineOrphans(
  app: ReposApp,
  store: ObjectStore,
  fix: boolean,
): AsyncGenerator<Finding> {
  for await (const { key } of store.list(ATTACHMENT_KEYS)) {
    const uuid = key.replace(/^.*\//, '')
    const row = (await findAttachment(app.db, uuid)) ?? (await findAttachmentByUuid(app.db, uuid))
    if (row?.store === store.name && attachmentKey(row.repository_id, uuid) === key) continue
    if (await isStorageDeletionQueued(app.db, store.name, key)) continue
    yield await repairable(fix, `attachment ${uuid}`, 'nothing leads to its file', () =>
      store.delete(key),
    )
  }
}

/** A content without a row may be of an upload that has not ended. */
const LFS_UPLOAD_MS = 24 * 60 * 60_000

async function* examineLfs(app: ReposApp, { fsck, fix }: Examination): AsyncGenerator<Finding> {
  for await (const { oid, bytes, store } of lfsContents(app.db)) {
    const problem = await lfsProblem(app, { oid, bytes }, store, fsck)
    // An upload of the same object replaces the content.
    if (problem) yield { subject: `LFS object ${oid}`, problem, outcome: 'its owner can repair it' }
  }
  const queued = new Set<string>()
  for await (const { key } of lfsPlaces(app.db)) queued.add(key)
  const { current } = app.objects
  for await (const { key, timeMs } of current.list(LFS_KEYS)) {
    if (queued.has(key) || timeMs > app.clock.now() - LFS_UPLOAD_MS) continue
    const subject = `LFS object ${key.replace(/^.*\//, '')}`
    yield await repairable(fix, subject, 'nothing leads to its content', () => current.delete(key))
  }
}

async function lfsProblem(
  { objects }: ReposApp,
  object: LfsObjectId,
  store: ContentStore,
  fsck: boolean,
): Promise<string | undefined> {
  const found = await objects.of(store).get(lfsKey(object.oid))
  if (!found) return 'its content is missing'
  try {
    if (found.bytes !== object.bytes)
      return `its content has ${found.bytes} bytes, not ${object.bytes}`
    if (!fsck) return undefined
    for await (const chunk of verifiedContent(found.content, object)) void chunk
    return undefined
  } catch (error) {
    if (!(error instanceof LfsError)) throw error
    return error.message
  } finally {
    found.content.destroy()
  }
}

async function repairable(
  fix: boolean,
  subject: string,
  problem: string,
  repair: () => Promise<void>,
): Promise<Finding> {
  if (!fix) return { subject, problem, outcome: '--fix repairs it' }
  await repair()
  return { subject, problem, outcome: 'repaired' }
}
