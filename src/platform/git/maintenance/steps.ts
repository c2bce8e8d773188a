import { utimes } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { spawnGit } from '../processes/child-process.ts'
import type { Priority } from '../processes/priority.ts'
import { unlessGone } from '../repositories/folders.ts'
import {
  dropReaders,
  processOptions,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'
import { STEP_TIMEOUT_MS } from './derived-files.ts'
import { GRAPH_CHAIN, type PackState, type RepositoryState } from './state.ts'

/** The steps of the maintenance of a repository, in the order in which they run. */
export const STEPS = ['full', 'prune', 'geometric', 'bitmap', 'commit-graph', 'refs'] as const

export type Step = (typeof STEPS)[number]

/** A step that one Git command does. A prune has several parts (`prune.ts`). */
export type SimpleStep = Exclude<Step, 'prune'>

/** `full` writes all objects of a repository again, which takes long for those of many GiB. */
export const FULL_TIMEOUT_MS = 6 * 60 * 60_000

/** A step that did not succeed. The message is that of Git, without paths of this machine. */
export class StepError extends Error {
  override readonly name = 'StepError'
}

/** Filters of changed paths that one step adds. Later steps add the others. */
const MAX_NEW_FILTERS = 50_000

/** Machines with more cores give a step two. */
const CORES_FOR_TWO_THREADS = 8

/** Longest message of Git that is kept. */
const MAX_MESSAGE_CHARACTERS = 500

/** Commits of branches and tags get a bitmap of their own first, since clients fetch these. */
const PREFERRED_TIPS = ['refs/heads/', 'refs/tags/'].flatMap((prefix) => [
  '-c',
  `pack.preferBitmapTips=${prefix}`,
])

/**
 * Runs a step. Readers and writers of the repository go on: Git removes a file only after another
 * one has its content, and takes its own locks for refs.
 *
 * @param state decides which packs a step leaves alone.
 * @param signal ends the Git process, which then removes its temporary files.
 * @throws StepError; GitError BUSY, NO_REPOSITORY, OUT_OF_MEMORY, TIMEOUT
 */
export async function runStep(
  repositories: Repositories,
  id: number,
  step: SimpleStep,
  state: RepositoryState,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const args = argumentsOf(step, state)
  if (!args) return
  const timeoutMs = step === 'full' ? FULL_TIMEOUT_MS : STEP_TIMEOUT_MS
  // `pack-refs` holds the lock of each branch for a moment. Pushes wait for the lock, so that the
  // process must not wait long for a core.
  const priority = step === 'refs' ? 'call' : 'maintenance'
  await runMaintenance(repositories, id, args, { timeoutMs, priority }, signal)
  if (step === 'commit-graph') await markGraph(repositories, id)
}

/** Limits of a Git command of maintenance. */
interface StepLimits {
  readonly timeoutMs: number
  readonly priority?: Priority
}

/**
 * Runs a Git command of maintenance to its end.
 *
 * @param signal ends the Git process, which then removes its temporary files.
 * @throws StepError; GitError BUSY, NO_REPOSITORY, OUT_OF_MEMORY, TIMEOUT
 */
export async function runMaintenance(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  { timeoutMs, priority = 'maintenance' }: StepLimits,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const { processes } = repositories
  const threads = availableParallelism() > CORES_FOR_TWO_THREADS ? 2 : 1
  // A pack is flushed with its index before the files that it replaces are removed.
  const config = ['-c', 'core.fsync=all', '-c', `pack.threads=${threads}`]
  const git = spawnGit([...config, ...args], {
    ...processOptions(repositories, id),
    timeoutMs,
    maxMemoryBytes: processes.maxMemoryBytes,
    priority,
  })
  const stop = () => git.stop()
  signal.addEventListener('abort', stop)
  git.stdin.end()
  git.stdout.resume()
  try {
    const { code, stderr } = await git.exited
    if (code !== 0) throw new StepError(messageOf(repositories, id, stderr))
  } finally {
    signal.removeEventListener('abort', stop)
    // Open handles and idle processes still refer to the files from before the step.
    await dropReaders(repositories, id)
  }
}

/**
 * Sets the time of the commit-graph, which says that the graph lacks nothing. Git leaves the files as
 * they are when there is no new commit, and packs that `full` has written would count as new ones.
 */
async function markGraph(repositories: Repositories, id: number): Promise<void> {
  const now = new Date()
  await unlessGone(async () => {
    await utimes(join(repositoryPath(repositories, id), 'objects', GRAPH_CHAIN), now, now)
    return []
  })
}

/** Returns the arguments of a step. Undefined when there is nothing to do it with. */
function argumentsOf(step: SimpleStep, { packs }: RepositoryState): string[] | undefined {
  const repack = repackArguments(packs)
  switch (step) {
    case 'full':
      // Unreachable objects stay, in a pack of their own: rows may still name them.
      return [...repack, '-a', '--cruft']
    case 'geometric':
      return [...repack, '--geometric=2']
    case 'bitmap':
      if (packs.length === 0) return undefined
      return [...PREFERRED_TIPS, 'multi-pack-index', 'write', '--bitmap', '--no-progress']
    case 'commit-graph': {
      const flags = ['--reachable', '--changed-paths', '--split', '--no-progress']
      return ['commit-graph', 'write', ...flags, `--max-new-filters=${MAX_NEW_FILTERS}`]
    }
    case 'refs':
      return ['pack-refs', '--all']
  }
}

/** Returns arguments of `git repack` that leave shared packs as they are. */
export function repackArguments(packs: readonly PackState[]): string[] {
  const shared = packs.filter(({ isShared }) => isShared)
  return [
    'repack',
    // `-n`: nobody reads the list of packs for servers without a program.
    ...['-d', '-n', '-q', '--write-midx'],
    ...shared.map(({ name }) => `--keep-pack=${name}`),
  ]
}

function messageOf(repositories: Repositories, id: number, stderr: string): string {
  const text = stderr.replaceAll(repositoryPath(repositories, id), '.').trim()
  return text.slice(0, MAX_MESSAGE_CHARACTERS) || 'Git ended without a message'
}
