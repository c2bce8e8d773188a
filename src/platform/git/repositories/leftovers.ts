import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { repositoryFolders } from './examination.ts'
import { entriesOf, unlessGone } from './folders.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/**
 * Names of files that killed Git processes leave in a repository: a folder of objects for each push
 * that was not accepted (tmp-objdir.c of Git 2.39, and earlier), and incomplete packs
 * (`odb_mkstemp` in environment.c; libgit2 uses other names). No Git process reads these files, and
 * `git gc` never removes the folders.
 */
export const QUARANTINE = /^(tmp_objdir-|incoming-)/
const UNFINISHED_PACK = /^(tmp_|\.tmp-|pack_git2_)/

/**
 * Time without a write after which a leftover is stale. The server disconnects clients that are
 * idle for this time, and orphans of a killed server have ended by then.
 */
const STALE_MS = 15 * 60_000
/**
 * The same time if pushes of other servers, which this process cannot see, may be in progress: one
 * can check the objects of a large push for an hour without a write.
 */
const SHARED_STALE_MS = 24 * 60 * 60_000

/**
 * The kernel stamps files with the time of its last tick (`ktime_get_coarse_real_ts64`), which is up to
 * 10 ms before the time that `Date.now` has returned already.
 */
const CLOCK_TICK_MS = 10

/** Counts a push to a repository, until the returned function is called. */
export function countPush({ pushes }: Repositories, id: number): () => void {
  pushes.set(id, (pushes.get(id) ?? 0) + 1)
  return () => {
    const left = (pushes.get(id) ?? 1) - 1
    if (left === 0) pushes.delete(id)
    else pushes.set(id, left)
  }
}

/**
 * Returns stale leftovers in a repository, as paths within the repository.
 *
 * @param nowMs Unix milliseconds.
 */
export async function findLeftovers(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<string[]> {
  const staleMs = repositories.isShared ? SHARED_STALE_MS : STALE_MS
  const found: string[] = []
  for (const path of await candidates(repositories, id)) {
    const changeMs = await lastChange(join(repositoryPath(repositories, id), path))
    if (changeMs !== undefined && nowMs - changeMs > staleMs) found.push(path)
  }
  return found
}

/** Removes a leftover that `findLeftovers` found. */
export async function removeLeftover(
  repositories: Repositories,
  id: number,
  path: string,
): Promise<void> {
  await rm(join(repositoryPath(repositories, id), path), { recursive: true, force: true })
}

/**
 * Removes the leftovers of all repositories, except those with a push in progress.
 *
 * @param signal ends the sweep early.
 * @returns the number of removed files and folders.
 */
export async function sweepLeftovers(
  repositories: Repositories,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  for await (const id of repositoryFolders(repositories)) {
    if (signal.aborted) break
    for (const path of await findLeftovers(repositories, id, nowMs)) {
      if (repositories.pushes.has(id)) break
      await removeLeftover(repositories, id, path)
      removed += 1
    }
  }
  return removed
}

/**
 * Removes the folder of a push whose Git process was killed. While another push to the repository
 * is in progress, or may be on another server, the folder is left to `sweepLeftovers`.
 *
 * @param startMs start of the Git process, in Unix milliseconds. Older folders may belong to an
 *   orphan of another server.
 */
export async function removeQuarantines(
  repositories: Repositories,
  id: number,
  startMs: number,
): Promise<void> {
  if (repositories.isShared) return
  const quarantines = (await candidates(repositories, id)).filter((path) =>
    path.startsWith('objects/tmp_objdir-'),
  )
  for (const path of quarantines) {
    const [folder] = await unlessGone(async () => [
      await stat(join(repositoryPath(repositories, id), path)),
    ])
    if (!folder || folder.birthtimeMs < startMs - CLOCK_TICK_MS) continue
    if (repositories.pushes.has(id)) continue
    await removeLeftover(repositories, id, path)
  }
}

/** Returns paths with the names of leftovers. */
async function candidates(repositories: Repositories, id: number): Promise<string[]> {
  const objects = join(repositoryPath(repositories, id), 'objects')
  const [folders, packs] = [await entriesOf(objects), await entriesOf(join(objects, 'pack'))]
  return [
    ...folders.flatMap(({ name }) => (QUARANTINE.test(name) ? join('objects', name) : [])),
    ...packs.flatMap(({ name }) => (UNFINISHED_PACK.test(name) ? join('objects/pack', name) : [])),
  ]
}

/** Returns the time of the last write to a file or folder, or undefined when it does not exist. */
async function lastChange(path: string): Promise<number | undefined> {
  const [found] = await unlessGone(async () => [await stat(path)])
  if (!found?.isDirectory()) return found?.mtimeMs
  const within = await Promise.all(
    (await entriesOf(path)).map(({ name }) => lastChange(join(path, name))),
  )
  return Math.max(found.mtimeMs, ...within.map((time) => time ?? 0))
}
