import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptedFaults } from '../core/accepted-faults.ts'
import { runGit } from '../processes/child-process.ts'
import { entriesOf, unlessGone } from './folders.ts'
import { placeOf, type Repositories, repositoryPath } from './repositories.ts'

/** Names of the folders that repositories are in, and of theirs (repositories.ts). */
const SHARD = /^[0-9a-f]{2}$/
const REPOSITORY = /^(\d+)\.git$/

/** Younger locks may belong to somebody who is at work. */
const STALE_LOCK_MS = 10 * 60_000

/** For some hundred gibibytes; the operator waits for it. */
const FSCK_TIMEOUT_MS = 24 * 60 * 60_000

/** Most lines of `git fsck` that are told of a repository. */
const MAX_FSCK_LINES = 20

/** The ids of the repositories that have a folder, in no order. */
export async function* repositoryFolders({
  folder,
}: Repositories): AsyncGenerator<number, void, undefined> {
  for (const shard of await entriesOf(folder)) {
    if (!shard.isDirectory() || !SHARD.test(shard.name)) continue
    for (const { name } of await entriesOf(join(folder, shard.name))) {
      const id = REPOSITORY.exec(name)?.[1]
      if (id !== undefined) yield Number(id)
    }
  }
}

/**
 * Lets Git check every object and ref of a repository (git-fsck(1)).
 *
 * @returns what it has to say, nothing when all is well.
 */
export async function checkObjects(repositories: Repositories, id: number): Promise<string[]> {
  // Objects that no ref leads to are what a refused push or a force push leaves.
  const settings = acceptedFaults('fsck').flatMap((setting) => ['-c', setting])
  const args = [...settings, 'fsck', '--full', '--strict', '--no-dangling', '--no-progress']
  const limits = {
    timeoutMs: FSCK_TIMEOUT_MS,
    maxMemoryBytes: repositories.processes.maxMemoryBytes,
  }
  const { code, stdout, stderr } = await runGit(args, { ...placeOf(repositories, id), ...limits })
  if (code === 0) return []
  return `${stdout}${stderr}`.trim().split('\n').slice(0, MAX_FSCK_LINES)
}

/**
 * Files by which Git locked refs for a process that did not live to remove them; paths within the
 * repository.
 */
export async function staleLocks(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<string[]> {
  const root = repositoryPath(repositories, id)
  const locks: string[] = []
  const visit = async (folder: string) => {
    for (const entry of await entriesOf(join(root, folder))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && (folder !== '' || entry.name === 'refs')) await visit(path)
      else if (entry.name.endsWith('.lock') && (await isOlder(join(root, path), nowMs)))
        locks.push(path)
    }
  }
  await visit('')
  return locks
}

/** Removes what `staleLocks` found. Only where nobody works on the repository. */
export async function removeLock(
  repositories: Repositories,
  id: number,
  path: string,
): Promise<void> {
  await rm(join(repositoryPath(repositories, id), path), { force: true })
}

async function isOlder(path: string, nowMs: number): Promise<boolean> {
  const found = await unlessGone(async () => [await stat(path)])
  return found.some(({ mtimeMs }) => nowMs - mtimeMs > STALE_LOCK_MS)
}
