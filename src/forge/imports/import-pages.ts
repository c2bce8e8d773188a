import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { RecordError } from '../conversations/imported-attachments.ts'
import { insertImportedDependencies } from '../conversations/imported-texts.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { ImportEndedError, noteProblem, type RunningImport, storeItem } from './import-items.ts'
import { type Counted, countsOf, countsOfTotal } from './import-progress.ts'
import { hasFiles, importFiles } from './imported-files.ts'
import * as rows from './project-imports.rows.ts'
import type {
  ConversationRecord,
  Listed,
  ListedRecords,
  Loadable,
  SourcePerson,
} from './project-records.ts'
import { SourceError } from './sources/source-client.ts'
import { resultsInOrder } from './sources/source-values.ts'
import { readPullFacts, storePullRecord } from './stored-pulls.ts'
import { storeIssue, storeLabel, storeMilestone, type Target } from './stored-records.ts'
import { storeRelease } from './stored-releases.ts'

/** Stores a record that is loaded, in a transaction. */
type Store<K extends Listed> = (tx: Tx, target: Target, record: ListedRecords[K]) => Promise<void>

/**
 * Stores the records of the present page, each in one transaction, and then their files. What is stored
 * already is left out, so a page can be repeated at any time.
 *
 * @returns where the next page begins; undefined after the last one.
 * @throws ImportEndedError, SourceError, SourcePause
 */
export async function importPage(
  app: ReposApp,
  run: RunningImport,
  kind: Listed,
): Promise<string | undefined> {
  const { job, source } = run
  const { records, next, total } = await source.page(kind, job.cursor)
  if (total !== undefined) await noteTotal(app, job.id, kind, total)
  const ids = records.map(({ sourceId }) => sourceId)
  const stored = await rows.storedItems(app.db, job.id, kind, ids)
  const pendingIds = ids.map((sourceId) => pendingId(kind, sourceId))
  const pending = await rows.storedItems(app.db, job.id, PENDING, pendingIds)
  const left = records.filter(
    ({ sourceId }) => !stored.has(sourceId) || pending.has(pendingId(kind, sourceId)),
  )
  for await (const result of resultsInOrder(left, load)) await importRecord(app, run, kind, result)
  return next
}

/** The kind of the items that say that a record waits for its files. */
const PENDING = 'pending'

const pendingId = (kind: Listed, sourceId: string) => `${kind} ${sourceId}`

/** A record, or why it could not be loaded. */
type Loaded<T> = Pick<Loadable<T>, 'ref' | 'sourceId'> &
  ({ readonly record: T; readonly problem?: undefined } | { readonly problem: string })

async function load<T>({ ref, sourceId, load: loadRecord }: Loadable<T>): Promise<Loaded<T>> {
  try {
    return { ref, sourceId, record: await loadRecord() }
  } catch (error) {
    // A token that is refused is refused for all others, too.
    if (!(error instanceof SourceError) || error.status === 401) throw error
    return { ref, sourceId, problem: error.message }
  }
}

async function importRecord<K extends Listed>(
  app: ReposApp,
  run: RunningImport,
  kind: K,
  loaded: Loaded<ListedRecords[K]>,
): Promise<void> {
  const item = { kind, ...loaded }
  if (loaded.problem !== undefined) return noteProblem(app, run, item, loaded.problem)
  const { record } = loaded
  const pending = [run.job.id, PENDING, pendingId(kind, loaded.sourceId)] as const
  try {
    const accountOf = await run.findAccounts(peopleIn(record))
    const store = await storeOf(app, run, kind, record)
    await storeItem(app, run, item, {
      added: addedBy(kind, record),
      async work(tx, leftOut) {
        await store(tx, targetOf(run, accountOf, leftOut), record)
        if ('dependsOn' in record) await noteDependencies(tx, run.job.id, record)
        if (hasFiles(record)) await rows.noteItem(tx, ...pending)
      },
    })
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return noteProblem(app, run, item, error.message)
  }
  if (!hasFiles(record)) return
  await importFiles(app, run, record)
  await transaction(app.db, (tx) => rows.removeItem(tx, ...pending))
}

/** Returns how a record is stored, once Git was asked what the rows need. */
async function storeOf<K extends Listed>(
  app: ReposApp,
  { job: { repository_id } }: RunningImport,
  kind: K,
  record: ListedRecords[K],
): Promise<Store<K>> {
  const stores: { readonly [L in Listed]: (of: ListedRecords[L]) => Promise<Store<L>> } = {
    labels: async () => storeLabel,
    milestones: async () => storeMilestone,
    releases: async () => storeRelease,
    issues: async () => storeIssue,
    pull_requests: async (pull) => {
      const facts = await readPullFacts(app, repository_id, pull)
      return (tx, target, one) => storePullRecord(app, tx, target, one, facts)
    },
  }
  return stores[kind](record)
}

/** Returns what a record adds to the counts. */
function addedBy(kind: Listed, record: ListedRecords[Listed]): Partial<Record<Counted, number>> {
  const comments = 'comments' in record ? record.comments.length : 0
  const reviews = 'reviews' in record ? record.reviews.length : 0
  return { [kind]: 1, comments, reviews }
}

async function noteTotal(app: ReposApp, id: number, kind: Counted, total: number): Promise<void> {
  await transaction(app.db, async (tx) => {
    const job = await rows.findProjectImport(tx, id)
    if (!job) throw new ImportEndedError()
    const progress = JSON.stringify(countsOfTotal(countsOf(job), kind, total))
    await rows.updateProjectImport(tx, id, { progress })
  })
}

function peopleIn(value: unknown): SourcePerson[] {
  if (typeof value !== 'object' || value === null) return []
  if ('login' in value && 'id' in value) return [value as SourcePerson]
  return Object.values(value).flatMap(peopleIn)
}

function targetOf(
  { job, importerId }: RunningImport,
  accountOf: Target['accountOf'],
  leftOut: (message: string) => void,
): Target {
  return { repositoryId: job.repository_id, importerId, leftOut, accountOf }
}

/** The kind of the items that say that a conversation depends on another one: `number number`. */
const DEPENDENCY = 'dependency'

/** Notes what a conversation depends on, since the others may follow. */
async function noteDependencies(
  tx: Tx,
  importId: number,
  { number, dependsOn }: ConversationRecord,
): Promise<void> {
  for (const other of dependsOn) await rows.noteItem(tx, importId, DEPENDENCY, `${number} ${other}`)
}

/** Makes the dependencies of all conversations. */
export async function importDependencies(
  app: ReposApp,
  { job: { id, repository_id } }: RunningImport,
): Promise<void> {
  const pairs = (await rows.itemsOf(app.db, id, DEPENDENCY)).map((text) => text.split(' '))
  for (const [number, other] of pairs)
    await transaction(app.db, (tx) =>
      insertImportedDependencies(tx, repository_id, Number(number), [Number(other)]),
    )
}
