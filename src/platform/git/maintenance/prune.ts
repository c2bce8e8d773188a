import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../core/errors.ts'
import { OWN_REFS } from '../core/ref-names.ts'
import { runGit } from '../processes/child-process.ts'
import { entriesOf, unlessGone } from '../repositories/folders.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import {
  dropReaders,
  limboOf,
  processOptions,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'
import { removeDamaged } from './derived-files.ts'
import { bringBack, type LimboEntry, limboEntries, ObjectAwayError, objectIds } from './limbo.ts'
import type { RepositoryState } from './state.ts'
import { FULL_TIMEOUT_MS, repackArguments, runMaintenance, StepError } from './steps.ts'

/**
 * A prune removes the objects that no ref reaches, and that nobody has written for some time. The
 * parts of a prune are, in this order: refs keep what rows need (`keepObjects`); Git moves the
 * objects into the limbo (`expireObjects`, `removeLoose`); and a check finds out whether everything
 * that is needed by then is still there (`isWhole`). If not, the objects come back. A prune that was
 * killed is undone as a whole (`undoPrunes`).
 */

/** Refs that exist during a prune only. */
const KEPT = `${OWN_REFS}keep/`

/** Enough to read all objects of a repository of many GiB. */
const CHECK_TIMEOUT_MS = 60 * 60_000

/** Git does not look for the commits of a commit-graph, which may lack some by now. */
const WITHOUT_GRAPH = ['-c', 'core.commitGraph=false']

/** Enough to read the new objects of a push, as Git itself has done before. */
const PUSH_TIMEOUT_MS = 10 * 60_000

/**
 * Creates refs for those objects that no other ref reaches, so that Git keeps the objects.
 *
 * @param ids of objects of any type. Ids of objects that are missing are left out.
 */
export async function keepObjects(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
): Promise<void> {
  const types = await typesOf(repositories, id, ids)
  const commits = [...types].flatMap(([objectId, type]) => (type === 'commit' ? objectId : []))
  const args = ['rev-list', '--stdin', '--not', '--all']
  const unreached =
    commits.length === 0 ? '' : await git(repositories, id, args, commits.join('\n'))
  const without = new Set(unreached.split('\n'))
  const kept = [...types].flatMap(([objectId, type]) =>
    type !== 'commit' || without.has(objectId) ? objectId : [],
  )
  const lines = kept.map((objectId) => `update ${KEPT}${objectId} ${objectId}\n`)
  if (lines.length > 0) await git(repositories, id, ['update-ref', '--stdin'], lines.join(''))
}

/** Removes the refs of `keepObjects`. */
export async function forgetKept(repositories: Repositories, id: number): Promise<void> {
  const lines = await git(repositories, id, ['for-each-ref', '--format=delete %(refname)', KEPT])
  if (lines !== '') await git(repositories, id, ['update-ref', '--stdin'], lines)
}

/** What a prune removes. */
export interface Expiry {
  /** Objects that were written later stay. Unix milliseconds; `now` for no limit. */
  readonly beforeMs: number | 'now'
  /** Whether packs that forks have too are written again. Forks keep theirs. */
  readonly includesShared: boolean
}

/**
 * Packs a repository as a whole, and moves the packs of old objects that no ref reaches into an
 * entry of the limbo. Git writes the pack in the limbo before it removes any pack.
 *
 * @throws StepError; GitError BUSY, NO_REPOSITORY, OUT_OF_MEMORY, TIMEOUT
 */
export async function expireObjects(
  repositories: Repositories,
  id: number,
  { state, entry, expiry }: { state: RepositoryState; entry: LimboEntry; expiry: Expiry },
  signal: AbortSignal,
): Promise<void> {
  const { beforeMs, includesShared } = expiry
  // `@` marks seconds since 1970 (date.c of Git).
  const time = beforeMs === 'now' ? 'now' : `@${Math.floor(beforeMs / 1000)} +0000`
  const args = [
    ...repackArguments(includesShared ? [] : state.packs),
    ...['-a', '--cruft', `--cruft-expiration=${time}`, `--expire-to=${join(entry.folder, 'pack')}`],
  ]
  await runMaintenance(repositories, id, args, { timeoutMs: FULL_TIMEOUT_MS }, signal)
}

/**
 * Removes the loose objects that are in an entry of the limbo, which Git leaves in place. Objects
 * that somebody has written again stay.
 *
 * @param startMs start of the prune by the clock of the file system, in Unix milliseconds.
 * @returns the ids of all objects in the entry.
 */
export async function removeLoose(
  repositories: Repositories,
  id: number,
  { folder }: LimboEntry,
  startMs: number,
): Promise<ReadonlySet<string>> {
  const ids = new Set(await objectIds(folder))
  const objects = join(repositoryPath(repositories, id), 'objects')
  for (const { name } of await entriesOf(objects)) {
    if (!/^[0-9a-f]{2}$/.test(name)) continue
    for (const file of await entriesOf(join(objects, name))) {
      if (!ids.has(name + file.name)) continue
      const path = join(objects, name, file.name)
      const [found] = await unlessGone(async () => [await stat(path)])
      if (found && found.mtimeMs < startMs) await rm(path, { force: true })
    }
  }
  await dropReaders(repositories, id)
  return ids
}

/**
 * Returns whether a repository has all objects that its refs and some other objects need.
 *
 * @param ids of the other objects. Those that are missing are left out.
 */
export async function isWhole(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const input = [...(await typesOf(repositories, id, ids)).keys()].join('\n')
  const options = { input, signal, timeoutMs: CHECK_TIMEOUT_MS, priority: 'maintenance' } as const
  const args = [...WITHOUT_GRAPH, 'rev-list', '--objects', '--quiet', '--all', '--stdin']
  return succeeds(repositories, id, args, options)
}

/**
 * Returns whether a repository has all objects that some objects need and that no ref reaches. Git
 * has looked at the same for a push before, but a prune may have removed some of them since then.
 *
 * @param quarantine folder of the objects of a push.
 */
export async function isConnected(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  quarantine: string | undefined,
): Promise<boolean> {
  const options = { input: ids.join('\n'), quarantine, timeoutMs: PUSH_TIMEOUT_MS }
  const args = [...WITHOUT_GRAPH, 'rev-list', '--objects', '--quiet', '--stdin', '--not', '--all']
  return succeeds(repositories, id, args, options)
}

/** Undoes prunes that have not ended. The caller has the lock of maintenance, so that none runs. */
export async function undoPrunes(repositories: Repositories, id: number): Promise<boolean> {
  const unfinished = (await limboEntries(repositories, id)).filter((entry) => entry.isUnfinished)
  if (unfinished.length === 0) return false
  await forgetKept(repositories, id)
  for (const entry of unfinished) await bringBack(repositories, id, entry)
  return true
}

/** Removes the commit-graph, which may have commits that a prune has removed. */
export async function removeGraph(repositories: Repositories, id: number): Promise<void> {
  await removeDamaged(repositories, id, 'objects/info/commit-graphs')
  await removeDamaged(repositories, id, 'objects/info/commit-graph')
}

/** Deletes all that the limbo has of a repository, for good. */
export async function clearLimbo(repositories: Repositories, id: number): Promise<void> {
  await rm(limboOf(repositories, id), { recursive: true, force: true })
}

/** Returns the types of objects. Missing objects are left out. */
async function typesOf(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const format = '--batch-check=%(objectname) %(objecttype)'
  const lines = await git(repositories, id, ['cat-file', format], `${ids.join('\n')}\n`)
  const found = lines.split('\n').flatMap((line) => {
    const [objectId = '', type = ''] = line.split(' ')
    return type === '' || type === 'missing' ? [] : [[objectId, type] as const]
  })
  return new Map(found)
}

async function succeeds(
  ...[repositories, id, args, options]: Parameters<typeof readGit>
): Promise<boolean> {
  try {
    await textOf(readGit(repositories, id, args, { ...options, asksAboutPrune: true }))
    return true
  } catch (error) {
    options?.signal?.throwIfAborted()
    // An exit code without a reason of the server: Git has found no object.
    if (error instanceof GitError && !(error instanceof ObjectAwayError)) throw error
    return false
  }
}

async function git(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  input = '',
): Promise<string> {
  const options = { ...processOptions(repositories, id), timeoutMs: CHECK_TIMEOUT_MS }
  const { code, stdout, stderr } = await runGit(
    args,
    { ...options, priority: 'maintenance' },
    input,
  )
  if (code !== 0) throw new StepError(stderr.replaceAll(repositoryPath(repositories, id), '.'))
  return stdout
}
