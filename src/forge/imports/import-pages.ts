import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { DomainError } from '../core/errors.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { countReleaseAssets } from '../repositories/releases/release-assets.rows.ts'
import { findEntryByTag } from '../repositories/releases/releases.rows.ts'
import {
  type Counted,
  countsOf,
  countsOfTotal,
  countsWith,
  type ImportProblem,
  withProblems,
} from './import-progress.ts'
import { insertImportedDependencies } from './imported-texts.rows.ts'
import * as rows from './project-imports.rows.ts'
import type {
  AssetRecord,
  ConversationRecord,
  Listed,
  ListedRecords,
  Loadable,
  ProjectSource,
  ReleaseRecord,
  SourcePerson,
} from './project-records.ts'
import type { ProjectImport } from './schema.ts'
import type { AccountFinder } from './source-accounts.ts'
import { SourceError } from './sources/source-client.ts'
import { resultsInOrder } from './sources/source-values.ts'
import { readPullFacts, storePullRecord } from './stored-pulls.ts'
import {
  RecordError,
  storeIssue,
  storeLabel,
  storeMilestone,
  type Target,
} from './stored-records.ts'
import { storeAsset, storeRelease } from './stored-releases.ts'

/** An import that runs. */
export interface RunningImport {
  readonly job: ProjectImport
  readonly source: ProjectSource
  readonly findAccounts: AccountFinder
  /** Who imports. */
  readonly importerId: number
}

/** The import has ended meanwhile, because somebody cancelled it or deleted the repository. */
export class ImportEndedError extends Error {}

/** Stores a record that is loaded, in a transaction. */
type Store<K extends Listed> = (tx: Tx, target: Target, record: ListedRecords[K]) => Promise<void>

/**
 * Stores the records of the present page, each in one transaction. Records that are stored already are
 * left out, so a page can be repeated at any time.
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
  const left = records.filter(({ sourceId }) => !stored.has(sourceId))
  for await (const result of resultsInOrder(left, load)) await importRecord(app, run, kind, result)
  return next
}

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
  try {
    const accountOf = await run.findAccounts(peopleIn(loaded.record))
    const store = await storeOf(app, run, kind, loaded.record)
    await storeItem(app, run, item, {
      added: addedBy(kind, loaded.record),
      async work(tx, leftOut) {
        await store(tx, targetOf(run, accountOf, leftOut), loaded.record)
        if ('dependsOn' in loaded.record) await noteDependencies(tx, run.job.id, loaded.record)
      },
    })
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    await noteProblem(app, run, item, error.message)
  }
  if (kind === 'releases') await importAssets(app, run, loaded.record as ReleaseRecord)
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

/** A record of the other server, as far as problems name it. */
interface Item {
  readonly kind: string
  readonly ref: string
  readonly sourceId: string
}

/** Stores a record once, with its counts and problems. */
async function storeItem(
  app: ReposApp,
  { job: { id } }: RunningImport,
  { kind, ref, sourceId }: Item,
  {
    added,
    work,
  }: {
    readonly added: Partial<Record<Counted, number>>
    readonly work: (tx: Tx, leftOut: (message: string) => void) => Promise<void>
  },
): Promise<boolean> {
  return transaction(app.db, async (tx) => {
    if (!(await rows.noteItem(tx, id, kind, sourceId))) return false
    const problems: ImportProblem[] = []
    await work(tx, (message) => problems.push({ kind, ref, message }))
    await count(tx, id, added, problems)
    return true
  })
}

function noteProblem(
  app: ReposApp,
  run: RunningImport,
  item: Item,
  message: string,
): Promise<void> {
  const work = async (_: Tx, leftOut: (text: string) => void) => leftOut(message)
  return storeItem(app, run, item, { added: {}, work }).then(() => {})
}

/** @throws ImportEndedError */
async function count(
  tx: Tx,
  id: number,
  added: Partial<Record<Counted, number>>,
  problems: readonly ImportProblem[],
): Promise<void> {
  const job = await rows.findProjectImport(tx, id)
  if (!job) throw new ImportEndedError()
  const progress = JSON.stringify(countsWith(countsOf(job), added))
  const errors = withProblems(job, problems)
  const changed = await rows.updateProjectImport(tx, id, { progress, errors, tries: 0 })
  if (!changed) throw new ImportEndedError()
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

/** Downloads the assets of a release, one after the other. */
async function importAssets(
  app: ReposApp,
  run: RunningImport,
  record: ReleaseRecord,
): Promise<void> {
  const { repository_id, id } = run.job
  const release = record.tag && (await findEntryByTag(app.db, repository_id, record.tag))
  // The release itself could not be stored, or is a draft that nothing names.
  if (!release || release.tag_only === 1) return
  const itemOf = ({ sourceId, name }: AssetRecord) => ({
    kind: 'assets',
    sourceId: `${record.sourceId} ${sourceId}`,
    ref: `${record.tag}/${name}`,
  })
  const ids = record.assets.map((asset) => itemOf(asset).sourceId)
  const stored = await rows.storedItems(app.db, id, 'assets', ids)
  for (const asset of record.assets) {
    const item = itemOf(asset)
    if (stored.has(item.sourceId)) continue
    try {
      const count = await countReleaseAssets(app.db, release.id)
      const content = await run.source.asset(asset)
      await storeAsset(
        app,
        { repositoryId: repository_id, releaseId: release.id, count },
        asset,
        content,
        (tx) => noteAsset(tx, id, item.sourceId),
      )
    } catch (error) {
      await noteProblem(app, run, item, problemOf(error))
    }
  }
}

async function noteAsset(tx: Tx, id: number, sourceId: string): Promise<boolean> {
  if (!(await rows.noteItem(tx, id, 'assets', sourceId))) return false
  await count(tx, id, { assets: 1 }, [])
  return true
}

/** Returns why a file is left out. @throws what is no fault of the file. */
function problemOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (error instanceof SourceError && error.status !== 401) return error.message
  if (error instanceof DomainError && error.reason === 'ASSET_TOO_LARGE')
    return 'the file is larger than this server allows'
  throw error
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
