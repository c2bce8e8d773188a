import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { repositoryFolders } from './examination.ts'
import { entriesOf, unlessGone } from './folders.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/**
 * What gits leave in a repository that did not live to remove it: objects of pushes that were never
 * let in, in a folder for each push (tmp-objdir.c of Git 2.39, and earlier), and packs that were
 * not complete (`odb_mkstemp` in its environment.c; libgit2 has names of its own). No other git
 * looks at them, and `git gc` keeps the folders for ever.
 */
const QUARANTINE = /^(tmp_objdir-|incoming-)/
const UNFINISHED_PACK = /^(tmp_|\.tmp-|pack_git2_)/

/**
 * Nobody writes to it: a client that sends nothing for so long is cut off, and orphans of a server
 * that was killed have ended.
 */
const STALE_MS = 15 * 60_000

/** Counts a push to a repository that is under way, until what it returns is called. */
export function countPush({ pushes }: Repositories, id: number): () => void {
  pushes.set(id, (pushes.get(id) ?? 0) + 1)
  return () => {
    const left = (pushes.get(id) ?? 1) - 1
    if (left === 0) pushes.delete(id)
    else pushes.set(id, left)
  }
}

/**
 * What is left in a repository of work that has ended; paths within the repository.
 *
 * @param nowMs Unix milliseconds.
 */
export async function findLeftovers(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<string[]> {
  const found: string[] = []
  for (const path of await candidates(repositories, id)) {
    const changeMs = await lastChange(join(repositoryPath(repositories, id), path))
    if (changeMs !== undefined && nowMs - changeMs > STALE_MS) found.push(path)
  }
  return found
}

/** Removes what `findLeftovers` found. */
export async function removeLeftover(
  repositories: Repositories,
  id: number,
  path: string,
): Promise<void> {
  await rm(join(repositoryPath(repositories, id), path), { recursive: true, force: true })
}

/**
 * Removes what is left in all repositories, but for those that are pushed to at the moment.
 *
 * @param signal ends it early.
 * @returns how many files and folders were removed.
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
 * Removes the folder of a push whose git was killed. Where another push to the repository is under
 * way it is left to `sweepLeftovers`.
 *
 * @param startMs when that git was started, in Unix milliseconds: older folders may belong to an
 *   orphan of another server.
 */
export async function removeQuarantines(
  repositories: Repositories,
  id: number,
  startMs: number,
): Promise<void> {
  const quarantines = (await candidates(repositories, id)).filter((path) =>
    path.startsWith('objects/tmp_objdir-'),
  )
  for (const path of quarantines) {
    const [made] = await unlessGone(async () => [
      await stat(join(repositoryPath(repositories, id), path)),
    ])
    if (!made || made.birthtimeMs < startMs || repositories.pushes.has(id)) continue
    await removeLeftover(repositories, id, path)
  }
}

/** What may be left over, by its name. */
async function candidates(repositories: Repositories, id: number): Promise<string[]> {
  const objects = join(repositoryPath(repositories, id), 'objects')
  const [folders, packs] = [await entriesOf(objects), await entriesOf(join(objects, 'pack'))]
  return [
    ...folders.flatMap(({ name }) => (QUARANTINE.test(name) ? join('objects', name) : [])),
    ...packs.flatMap(({ name }) => (UNFINISHED_PACK.test(name) ? join('objects/pack', name) : [])),
  ]
}

/** When anything in a file or folder was last written to; undefined when it is gone. */
async function lastChange(path: string): Promise<number | undefined> {
  const [found] = await unlessGone(async () => [await stat(path)])
  if (!found?.isDirectory()) return found?.mtimeMs
  const within = await Promise.all(
    (await entriesOf(path)).map(({ name }) => lastChange(join(path, name))),
  )
  return Math.max(found.mtimeMs, ...within.map((time) => time ?? 0))
}
