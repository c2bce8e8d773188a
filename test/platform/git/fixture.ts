import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import * as writes from '../../../src/platform/git/objects/object-writes.ts'
import { editTree } from '../../../src/platform/git/objects/tree-edits.ts'
import { updateRefs } from '../../../src/platform/git/refs/refs.ts'
import {
  closeRepositories,
  createRepository,
  prepareRepositories,
  type Repositories,
  repositoriesIn,
  repositoryPath,
} from '../../../src/platform/git/repositories/repositories.ts'
import { importHistory, type ScriptedCommit } from '../../support/histories.ts'
import { workerSpawner } from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'

/** A folder that is gone when the test is over. */
export async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-git-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Creates repositories in a new folder, and removes them after the test.
 *
 * @param count the number of empty repositories to create, with ids from 1.
 */
export async function testRepositories(count = 0): Promise<Repositories> {
  const folder = await scratchFolder()
  const repositories = repositoriesIn(folder)
  repositories.processes.spawner = workerSpawner()
  await prepareRepositories(repositories)
  onTestFinished(() => closeRepositories(repositories))
  for (let id = 1; id <= count; id++) await createRepository(repositories, id, 'main')
  return repositories
}

/** Who commits in tests. */
export const ADA = { name: 'Ada', email: 'ada@example.org', time: 1_770_000_000, offsetMinutes: 60 }

/** Stores a commit with one file, the first of its history. */
export async function storeCommit(
  repositories: Repositories,
  id: number,
  message = 'first',
): Promise<string> {
  const blobId = await writes.storeBlob(repositories, id, Buffer.from(`# ${message}\n`))
  const edits = [{ path: 'README.md', file: { blobId, mode: 0o100644 } }]
  const treeId = await editTree(repositories, id, undefined, edits)
  const commit = { treeId, parentIds: [], author: ADA, committer: ADA, message }
  return (await writes.storeCommit(repositories, id, commit)).id
}

/** Makes repository `id` with one commit on `main`, and returns the id of the commit. */
export async function createFilledRepository(
  repositories: Repositories,
  id: number,
): Promise<string> {
  await createRepository(repositories, id, 'main')
  const commit = await storeCommit(repositories, id)
  await updateRefs(repositories, id, [{ name: 'refs/heads/main', from: undefined, to: commit }])
  return commit
}

/**
 * What the git of this machine prints about a repository, without the line end; throws when it
 * fails.
 */
export function git(repositories: Repositories, id: number, ...args: string[]): string {
  return gitAt(repositoryPath(repositories, id), ...args)
}

/** The same about the repository at a path. */
export function gitAt(path: string, ...args: string[]): string {
  return execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trimEnd()
}

/** Stores a history. */
export function writeHistory(
  repositories: Repositories,
  id: number,
  commits: readonly ScriptedCommit[],
): void {
  importHistory(repositoryPath(repositories, id), commits)
}

/**
 * Advances the clock of the server for the rest of the test, so that all files are old enough for a
 * later change to show in their times.
 */
export function settleFiles(): void {
  const aheadMs = 60_000
  const now = Date.now
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs)
  onTestFinished(() => spy.mockRestore())
}

/** Returns how many Git processes some work starts. */
export async function gitProcessesOf(
  { processes }: Repositories,
  work: () => Promise<unknown>,
): Promise<number> {
  const count = vi.spyOn(processes, 'count')
  try {
    await work()
    return count.mock.calls.length
  } finally {
    count.mockRestore()
  }
}
