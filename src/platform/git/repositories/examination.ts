import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptedFaults } from '../core/accepted-faults.ts'
import { runGit } from '../processes/child-process.ts'
import { entriesOf, unlessGone } from './folders.ts'
import { processOptions, type Repositories, repositoryPath } from './repositories.ts'

/** Names of the folders in `repositories.ts`. */
const SHARD = /^[0-9a-f]{2}$/
const REPOSITORY = /^(\d+)\.git$/

/** A younger lock may belong to a running process. */
const STALE_LOCK_MS = 10 * 60_000

/** Enough for several hundred GiB. The operator waits for the result. */
const FSCK_TIMEOUT_MS = 24 * 60 * 60_000

/** Reported lines of `git fsck` for each repository. */
const MAX_FSCK_LINES = 20

/** Yields the ids of all repositories that have a folder, in no order. */
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
 * Checks all objects and refs of a repository (git-fsck(1)).
 *
 * @returns the messages of Git, empty when there are no errors.
 */
export async function checkObjects(repositories: Repositories, id: number): Promise<string[]> {
  // Refused pushes and force pushes leave unreachable objects, which are no fault.
  const settings = acceptedFaults('fsck').flatMap((setting) => ['-c', setting])
  const args = [...settings, 'fsck', '--full', '--strict', '--no-dangling', '--no-progress']
  const limits = {
    timeoutMs: FSCK_TIMEOUT_MS,
    maxMemoryBytes: repositories.processes.maxMemoryBytes,
  }
  const { code, stdout, stderr } = await runGit(args, {
    ...processOptions(repositories, id),
    ...limits,
    priority: 'transfer',
  })
  if (code === 0) return []
  return `${stdout}${stderr}`.trim().split('\n').slice(0, MAX_FSCK_LINES)
}

/**
 * Returns lock files of refs that killed processes have left, as paths within the repository.
 *
 * @param nowMs Unix milliseconds.
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

/** Removes a lock that `staleLocks` found. The repository must not be in use. */
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
