import { HEADS, TAGS } from '../../../git/core/ref-names.ts'
import { type RefTarget, readRefTargets } from '../../../git/refs/ref-targets.ts'
import {
  isRefName,
  listRefs,
  readDefaultBranch,
  readRef,
  readRefs,
  setDefaultBranch,
} from '../../../git/refs/refs.ts'
import {
  createRepository,
  repositoryExists,
  withRepositoryLock,
} from '../../../git/repositories/repositories.ts'
import { transaction } from '../../../storage/database/database.ts'
import {
  countBranches,
  deleteBranches,
  deletePendingRefUpdates,
  findBranch,
  pageOfBranches,
  pendingRefUpdatesOf,
  putBranches,
  repositoriesWithPendingRefUpdates,
} from '../../../storage/repos/branches.ts'
import { type IndexedRefs, listHeldRefs } from '../../../storage/repos/ref-names.ts'
import { redateReleasesOfTags, withdrawReleasesOfTags } from '../../../storage/repos/releases.ts'
import { findRepositoryById, updateRepository } from '../../../storage/repos/repositories.ts'
import {
  countTags,
  deleteTags,
  findTag,
  findTagInAnyCase,
  pageOfTags,
  putTags,
} from '../../../storage/repos/tags.ts'
import type { Branch, Tag } from '../../../storage/schema/refs.ts'
import type { Repository, RepositoryChanges } from '../../../storage/schema/repos.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import {
  recordMovedRefs,
  recordRepositoryChange,
  wakeWatchers,
} from '../events/repository-events.ts'
import type { MovedRef, ReposApp } from '../ports.ts'
import { endedRenames, findRenamed, settleRenames } from './branch-renames.ts'
import { findPushers, isSettled, leftoverUpdates } from './pending-ref-updates.ts'
import { measureLater } from './repository-size.ts'

/**
 * The rows about branches and tags. Git is the truth about refs, and the rows follow: written after
 * every move, read instead of Git by whatever lists, and written anew from Git where they turn out
 * to be behind.
 */

/** Where the refs of each table are. */
const PREFIXES: readonly (readonly [IndexedRefs, string])[] = [
  ['branches', HEADS],
  ['tags', TAGS],
]

/**
 * Refs whose objects are read, and whose rows are written, at a time. Bounds memory, and how long a
 * transaction takes.
 */
const BATCH = 500

/** Differences that an operator is told of. */
const MAX_PROBLEMS = 100

/** Refs that may have moved, by their names in full. */
export type Extent = readonly string[] | 'all'

/** A ref that Git and the rows say different things about. */
interface RefChange {
  readonly table: IndexedRefs
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string
  /** What Git says that it holds; undefined when it is gone. */
  readonly objectId: string | undefined
  /** What its row says; undefined when it has none. */
  readonly known: string | undefined
}

/** A part of a list. */
export interface RefPage<T> {
  readonly refs: readonly T[]
  /** How many the whole list has. */
  readonly total: number
}

/**
 * Brings the rows about refs to what Git says, as far as they may differ, and with them the default
 * branch: where it does not exist, the first of the refs that does becomes it.
 *
 * @param notes that are done with by that.
 * @returns how many refs the rows were wrong about.
 */
export async function recordRefs(
  app: ReposApp,
  repositoryId: number,
  notes: readonly number[],
  extent: Extent,
): Promise<number> {
  // Between reading Git and writing rows nobody else does so for this repository: the later writer
  // would write what is older.
  const changes = await withRepositoryLock(app.git, repositoryId, async () => {
    const repository = await findRepositoryById(app.db, repositoryId)
    // Deleted in the meantime, under the same lock, and every note and ref with it.
    return repository ? record(app, repository, notes, extent) : 0
  })
  if (changes > 0) measureLater(app, repositoryId)
  return changes
}

/**
 * For who holds the lock.
 *
 * @param ended notes of work that has ended.
 * @param settled those of them that are done with by that.
 */
async function record(
  app: ReposApp,
  repository: Repository,
  ended: readonly number[],
  extent: Extent,
  settled: readonly number[] = ended,
) {
  const { id, default_branch } = repository
  const held = await readHeld(app, id, extent)
  const [changes, renames, recorders] = await Promise.all([
    changesOf(app, id, held, extent),
    endedRenames(app, id, ended),
    Promise.all(app.refObservers.map((o) => o.beginRecord(app, repository, ended))),
  ])
  const defaultBranch = await settleDefaultBranch(app, id, held)
  const hasNewDefault = defaultBranch !== default_branch
  const isChanged = changes.length > 0 || hasNewDefault
  const pusherOf = findPushers(app, id)
  const allMoved: MovedRef[] = []
  // The last batch may be an empty one; the notes go with it.
  for (let start = 0; start === 0 || start < changes.length; start += BATCH) {
    const batch = changes.slice(start, start + BATCH)
    const targets = await readRefTargets(
      app.git,
      id,
      batch.flatMap(({ objectId }) => objectId ?? []),
    )
    const isLast = start + BATCH >= changes.length
    const moved = movedRefs(batch, targets, pusherOf)
    allMoved.push(...moved)
    const batchOf = { moved, defaultBranch, isLast, settled }
    const reactions = await Promise.all(recorders.map((recorder) => recorder.prepare(batchOf)))
    await transaction(app.db, async (tx) => {
      await writeRows(tx, id, batch, targets, nowSeconds(app.clock))
      await recordMovedRefs(app, tx, id, moved)
      for (const reaction of reactions) await reaction.record(tx)
      if (!isLast) return
      if (hasNewDefault) await recordRepositoryChange(app, tx, undefined, id, 'REPOSITORY_EDITED')
      await settleRenames(app, tx, repository, renames, settled)
      await endRecord(tx, id, settled, isChanged ? stateOf(app, defaultBranch) : undefined)
    })
    // After each commit: a failure of a later batch must not hide it.
    wakeWatchers(app)
    for (const reaction of reactions) reaction.afterCommit()
  }
  for (const recorder of recorders) recorder.finish(allMoved)
  return changes.length
}

/**
 * What those who watch are told of. Nobody is told of a branch of something else than a commit,
 * which has no row.
 */
function movedRefs(
  changes: readonly RefChange[],
  targets: ReadonlyMap<string, RefTarget>,
  pusherOf: ReturnType<typeof findPushers>,
): MovedRef[] {
  return changes.flatMap(({ table, name, objectId, known }) => {
    const ref = `${table === 'branches' ? HEADS : TAGS}${name}`
    const isBroken =
      table === 'branches' &&
      objectId !== undefined &&
      targets.get(objectId)?.commitId === undefined
    const newId = isBroken ? undefined : objectId
    return newId === known ? [] : [{ ref, oldId: known, newId, pusherId: pusherOf(ref, newId) }]
  })
}

function stateOf({ clock }: ReposApp, defaultBranch: string): RepositoryChanges {
  return { default_branch: defaultBranch, update_time: nowSeconds(clock) }
}

/** What goes with the last rows of a record, and so is there if and only if all of them are. */
async function endRecord(
  tx: Tx,
  repositoryId: number,
  notes: readonly number[],
  state: RepositoryChanges | undefined,
) {
  if (state) await updateRepository(tx, repositoryId, state)
  await deletePendingRefUpdates(tx, notes)
}

/** What Git says that the refs hold, by their names in full; those that are gone are left out. */
async function readHeld(
  app: ReposApp,
  repositoryId: number,
  extent: Extent,
): Promise<ReadonlyMap<string, string>> {
  if (extent !== 'all') return readRefs(app.git, repositoryId, extent)
  const held = new Map<string, string>()
  for await (const { name, id } of listRefs(app.git, repositoryId, [HEADS, TAGS]))
    held.set(name, id)
  return held
}

async function changesOf(
  app: ReposApp,
  repositoryId: number,
  held: ReadonlyMap<string, string>,
  extent: Extent,
): Promise<RefChange[]> {
  const changes: RefChange[] = []
  for (const [table, prefix] of PREFIXES) {
    const names = (extent === 'all' ? [...held.keys()] : extent).flatMap((ref) =>
      ref.startsWith(prefix) ? ref.slice(prefix.length) : [],
    )
    const known = await readKnown(app, table, repositoryId, extent === 'all' ? 'all' : names)
    for (const name of new Set([...names, ...known.keys()])) {
      const objectId = held.get(`${prefix}${name}`)
      if (objectId !== known.get(name))
        changes.push({ table, name, objectId, known: known.get(name) })
    }
  }
  return changes
}

/** What rows say that refs of a table hold, by their names in the table. */
async function readKnown(
  app: ReposApp,
  table: IndexedRefs,
  repositoryId: number,
  extent: Extent,
): Promise<ReadonlyMap<string, string>> {
  if (extent === 'all') {
    const rows = await listHeldRefs(app.db, table, repositoryId)
    return new Map(rows.map(({ name, object_id }) => [name, object_id]))
  }
  const known = new Map<string, string>()
  for (let start = 0; start < extent.length; start += BATCH) {
    const rows = await listHeldRefs(app.db, table, repositoryId, extent.slice(start, start + BATCH))
    for (const { name, object_id } of rows) known.set(name, object_id)
  }
  return known
}

/** A branch of something else than a commit, which only a broken repository has, gets no row. */
async function writeRows(
  tx: Tx,
  repositoryId: number,
  changes: readonly RefChange[],
  targets: ReadonlyMap<string, RefTarget>,
  now: number,
): Promise<void> {
  const branches: Branch[] = []
  const tags: Tag[] = []
  const gone: Record<IndexedRefs, string[]> = { branches: [], tags: [] }
  for (const { table, name, objectId } of changes) {
    const target = objectId === undefined ? undefined : targets.get(objectId)
    if (table === 'branches' && target?.commitId !== undefined)
      branches.push({
        repository_id: repositoryId,
        name,
        commit_id: target.commitId,
        commit_time: target.time,
      })
    else if (table === 'tags' && objectId !== undefined)
      tags.push({ repository_id: repositoryId, name, object_id: objectId, ...tagColumns(target) })
    else gone[table].push(name)
  }
  await putBranches(tx, branches)
  await putTags(tx, tags)
  await deleteBranches(tx, repositoryId, gone.branches)
  await deleteTags(tx, repositoryId, gone.tags)
  await withdrawReleasesOfTags(tx, repositoryId, gone.tags)
  const moved = new Set(changes.flatMap(({ name, known }) => (known === undefined ? [] : name)))
  const movedTags = tags.filter(({ name }) => moved.has(name))
  await redateReleasesOfTags(
    tx,
    repositoryId,
    movedTags.map((tag) => ({ name: tag.name, time: tagTime(tag, now) })),
  )
}

/** When a tag was made, as far as what Git says of that can be true. Unix seconds. */
export function tagTime({ time }: Pick<Tag, 'time'>, now: number): number {
  return time > 0 && time < now ? time : now
}

/** Without a target it is a tag of a file or a folder. */
function tagColumns(
  target: RefTarget | undefined,
): Pick<Tag, 'annotated' | 'commit_id' | 'time' | 'message'> {
  return {
    annotated: target?.isAnnotated ? 1 : 0,
    commit_id: target?.commitId ?? null,
    time: target?.time ?? 0,
    message: target?.message ?? '',
  }
}

/**
 * The default branch as it is to be: by its new name, if it has one; where there is none yet, the
 * first of those that exist now.
 */
async function settleDefaultBranch(
  app: ReposApp,
  repositoryId: number,
  held: ReadonlyMap<string, string>,
): Promise<string> {
  const current = await readDefaultBranch(app.git, repositoryId)
  const first = [...held.keys()].find((ref) => ref.startsWith(HEADS))
  if (first === undefined) return current
  const currentRef = `${HEADS}${current}`
  if (held.has(currentRef) || (await readRef(app.git, repositoryId, currentRef)) !== undefined)
    return current
  const branch = (await findRenamed(app, repositoryId, current)) ?? first.slice(HEADS.length)
  await setDefaultBranch(app.git, repositoryId, branch)
  return branch
}

/**
 * Compares all rows about the refs of a repository with Git, and writes what differs.
 *
 * @returns how many refs they were wrong about.
 */
export function syncRefIndex(app: ReposApp, repositoryId: number): Promise<number> {
  return recordRefs(app, repositoryId, [], 'all')
}

/**
 * What the rows about the refs of a repository say against Git, a sentence for each difference. For
 * operators: beside pushes it tells of those that are being recorded.
 */
export async function compareRefIndex(app: ReposApp, repositoryId: number): Promise<string[]> {
  const repository = await findRepositoryById(app.db, repositoryId)
  if (!repository) return []
  const held = await readHeld(app, repositoryId, 'all')
  const changes = await changesOf(app, repositoryId, held, 'all')
  const problems = changes.slice(0, MAX_PROBLEMS).map(({ table, name, objectId, known }) => {
    const kind = table === 'branches' ? 'branch' : 'tag'
    return `${kind} "${name}" is ${objectId ?? 'missing'} in Git and ${known ?? 'missing'} in the database`
  })
  const defaultBranch = await readDefaultBranch(app.git, repositoryId)
  if (defaultBranch === repository.default_branch) return problems
  return [
    ...problems,
    `the default branch is "${defaultBranch}" in Git and "${repository.default_branch}" in the database`,
  ]
}

/**
 * Reads from Git whatever notes were left about. When the server starts, before anybody else moves
 * refs.
 */
export async function reconcilePendingUpdates(app: ReposApp): Promise<void> {
  for (const repositoryId of await repositoriesWithPendingRefUpdates(app.db)) {
    try {
      await reconcileRefs(app, repositoryId)
    } catch (err) {
      // The others can be served. The note stays, and the next reader tries again.
      app.log.error(
        { err, repository: repositoryId },
        'refs could not be read from Git after a crash',
      )
    }
  }
}

/**
 * Reads the refs of a repository from Git if notes were left about it: before anybody is told what
 * follows from them.
 */
export async function reconcileRefs(app: ReposApp, repositoryId: number): Promise<void> {
  if ((await leftoverUpdates(app, repositoryId)).length === 0) return
  await withRepositoryLock(app.git, repositoryId, async () => {
    const notes = await leftoverUpdates(app, repositoryId)
    const repository = await findRepositoryById(app.db, repositoryId)
    if (!repository || notes.length === 0) return
    // The crash may have come before the folder was made.
    if (!(await repositoryExists(app.git, repositoryId))) {
      await createRepository(app.git, repositoryId, repository.default_branch)
    }
    const idsOf = (some: typeof notes) => some.map(({ id }) => id)
    const settled = idsOf(notes.filter((note) => isSettled(app, note)))
    const wrong = await record(app, repository, idsOf(notes), 'all', settled)
    if (wrong > 0)
      app.log.warn({ repository: repositoryId, refs: wrong }, 'rows were behind Git after a crash')
  })
}

/** Before rows are read: heals them, and fills them where there are none. */
async function prepareIndex(app: ReposApp, { id, branch_count }: Repository): Promise<void> {
  await reconcileRefs(app, id)
  // An empty repository, one that somebody put there by hand, or one that is being made and has no
  // folder yet.
  if (branch_count === 0 && (await repositoryExists(app.git, id))) await syncRefIndex(app, id)
}

/**
 * Branches of a repository, latest commit first, then by name.
 *
 * @param part of their names, in any case of its letters; empty for all.
 */
export async function readBranchIndex(
  app: ReposApp,
  repository: Repository,
  part: string,
  offset: number,
  limit: number,
): Promise<RefPage<Branch>> {
  await prepareIndex(app, repository)
  const refs = await pageOfBranches(app.db, repository.id, part, offset, limit)
  return { refs, total: await countBranches(app.db, repository.id, part) }
}

/** Tags of a repository, latest first, then by name. */
export async function readTagIndex(
  app: ReposApp,
  repository: Repository,
  offset: number,
  limit: number,
): Promise<RefPage<Tag>> {
  await prepareIndex(app, repository)
  const refs = await pageOfTags(app.db, repository.id, offset, limit)
  return { refs, total: await countTags(app.db, repository.id) }
}

/**
 * One branch. Git is asked what it holds, which costs little, and the row repaired if it says
 * something else.
 */
export async function readBranch(
  app: ReposApp,
  { id }: Repository,
  name: string,
): Promise<Branch | undefined> {
  const ref = `${HEADS}${name}`
  const [branch, held] = await Promise.all([
    findBranch(app.db, id, name),
    readRef(app.git, id, ref),
  ])
  if (branch?.commit_id === held) return branch
  await repairRow(app, id, ref)
  return findBranch(app.db, id, name)
}

/** One tag, as one branch is read. */
export async function readTag(
  app: ReposApp,
  { id }: Repository,
  name: string,
): Promise<Tag | undefined> {
  const ref = `${TAGS}${name}`
  const [tag, held] = await Promise.all([findTag(app.db, id, name), readRef(app.git, id, ref)])
  if (tag?.object_id === held) return tag
  await repairRow(app, id, ref)
  return findTag(app.db, id, name)
}

/**
 * Repairs the row about a ref. An update that is pending explains the difference, and concerns its
 * own refs. Without one the rows are damaged, or somebody moved refs past the server: then the rows
 * about all refs are compared with Git, since a repaired row alone would pass for a list that is
 * complete.
 */
async function repairRow(app: ReposApp, repositoryId: number, ref: string): Promise<void> {
  const isExplained = (await pendingRefUpdatesOf(app.db, repositoryId)).length > 0
  await recordRefs(app, repositoryId, [], isExplained ? [ref] : 'all')
}

/**
 * The tag of a name or, if there is none, one whose name differs in nothing but the case of its
 * letters.
 */
export async function readTagInAnyCase(
  app: ReposApp,
  repository: Repository,
  name: string,
): Promise<Tag | undefined> {
  const tag = isRefName(name) ? await readTag(app, repository, name) : undefined
  if (tag) return tag
  const other = await findTagInAnyCase(app.db, repository.id, name)
  return other && readTag(app, repository, other.name)
}
