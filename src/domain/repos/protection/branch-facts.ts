import { readCommits } from '../../../git/history/history.ts'
import {
  type BranchMove,
  listChangedPaths,
  listNewCommits,
  losesCommits,
  type MoveReading,
} from '../../../git/history/new-commits.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import type { Repositories } from '../../../git/repositories/repositories.ts'
import { DomainError } from '../../core/errors.ts'
import { createYielder } from '../../core/yielding.ts'
import { reading } from '../reading/git-reading.ts'
import {
  allowsForcePush,
  type BranchRule,
  type ChangeFacts,
  type FactsNeeded,
  FileExamination,
  type FileFacts,
  NO_FACTS,
} from './protection-rules.ts'

/**
 * Finds the first of some commits, in their order, whose signature is missing or not known to be
 * somebody's.
 *
 * @returns its id; undefined when there is none.
 */
export type FindUnverified = (commits: readonly RawCommit[]) => Promise<string | undefined>

/** What Git is asked on behalf of whoever pushes. */
export interface FactSource {
  readonly repositories: Repositories
  readonly repositoryId: number
  /**
   * Folder of the objects that came with a push; undefined where the server itself has stored them.
   */
  readonly quarantine: string | undefined
  /** In milliseconds of `performance.now()`: from then on nothing is asked any more. */
  readonly deadline: number
  readonly findUnverified: FindUnverified
}

/**
 * Commits of which a branch may be brought more at a time only if their signatures do not matter.
 */
const MAX_VERIFIED_COMMITS = 10_000

/** Commits that are in memory at a time. */
const COMMITS_AT_A_TIME = 100

/** Of an object; one that is longer has no signature that could be verified. */
const MAX_COMMIT_BYTES = 256 * 1024

/**
 * Finds out about a move of a branch what a rule needs to know, in the order of its tests and no
 * further than to one that will fail.
 *
 * @throws GitError NOT_FOUND when one end of the move is no commit; SERVER_BUSY, GIT_TIMEOUT
 */
export async function gatherFacts(
  source: FactSource,
  rule: BranchRule,
  move: BranchMove,
  needed: FactsNeeded,
): Promise<ChangeFacts> {
  const { repositories, repositoryId } = source
  const isForced =
    needed.ancestry &&
    (await reading(losesCommits(repositories, repositoryId, move, limitsOf(source))))
  if (isForced && !allowsForcePush(rule)) return { ...NO_FACTS, isForced }
  const unverifiedCommit = needed.signatures
    ? await reading(firstUnverified(source, move))
    : undefined
  if (unverifiedCommit !== undefined || !needed.files)
    return { ...NO_FACTS, isForced, unverifiedCommit }
  return { isForced, unverifiedCommit, files: await reading(examineFiles(source, rule, move)) }
}

/** An answer that comes too late is one that takes too long. */
function limitsOf({ quarantine, deadline }: FactSource): MoveReading {
  return { quarantine, timeoutMs: Math.max(deadline - performance.now(), 1) }
}

async function firstUnverified(source: FactSource, move: BranchMove): Promise<string | undefined> {
  const { repositories, repositoryId, findUnverified } = source
  // All ids before the first commit: who reads both at a time takes up two places that others wait
  // for.
  const ids: string[] = []
  for await (const id of listNewCommits(repositories, repositoryId, move, limitsOf(source))) {
    ids.push(id)
    if (ids.length > MAX_VERIFIED_COMMITS) return id
  }
  for (let start = 0; start < ids.length; start += COMMITS_AT_A_TIME) {
    const batch = ids.slice(start, start + COMMITS_AT_A_TIME)
    const commits = await readCommits(
      repositories,
      repositoryId,
      batch,
      MAX_COMMIT_BYTES,
      limitsOf(source),
    )
    const unverified =
      batch.find((id) => !commits.has(id)) ?? (await findUnverified([...commits.values()]))
    if (unverified !== undefined) return unverified
  }
  return undefined
}

async function examineFiles(
  source: FactSource,
  rule: BranchRule,
  move: BranchMove,
): Promise<FileFacts> {
  const { repositories, repositoryId, deadline } = source
  const examination = new FileExamination(rule)
  const yielder = createYielder()
  for await (const path of listChangedPaths(repositories, repositoryId, move, limitsOf(source))) {
    if (!examination.take(path)) break
    const pause = yielder.yield()
    if (pause) await pause
    if (performance.now() > deadline) throw new DomainError('GIT_TIMEOUT')
  }
  return examination.result()
}
