import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { readCommits } from '../../../platform/git/history/history.ts'
import {
  type BranchMove,
  listChangedPaths,
  listNewCommits,
  losesCommits,
  type MoveReading,
} from '../../../platform/git/history/new-commits.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import type { Repositories } from '../../../platform/git/repositories/repositories.ts'
import { DomainError } from '../../core/errors.ts'
import { reading } from '../content/git-reading.ts'
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
 * Finds the first commit whose signature is missing or not verified.
 *
 * @returns the id of the commit; undefined if all signatures are verified
 */
export type FindUnverified = (commits: readonly RawCommit[]) => Promise<string | undefined>

/** The repository and the limits with which the facts of a push are gathered. */
export interface FactSource {
  readonly repositories: Repositories
  readonly repositoryId: number
  /**
   * Folder of the quarantined objects of a push; undefined for objects that the server stored
   * itself.
   */
  readonly quarantine: string | undefined
  /** The deadline in milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly findUnverified: FindUnverified
}

/**
 * The number of new commits of one update whose signatures are verified. A larger update is refused
 * if the rule requires signatures.
 */
const MAX_VERIFIED_COMMITS = 10_000

/** The number of commits in memory at once. */
const COMMITS_AT_A_TIME = 100

/** The bytes read of a commit. A longer one has no signature that could be verified. */
const MAX_COMMIT_BYTES = 256 * 1024

/**
 * Gathers the facts about a branch update that a rule needs, in the order of its checks. It stops
 * at the first fact that fails a check.
 *
 * @throws GitError NOT_FOUND if an end of the update is no commit; SERVER_BUSY, GIT_TIMEOUT
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

/** Returns the limits of one Git process, which times out at the deadline. */
function limitsOf({ quarantine, deadline }: FactSource): MoveReading {
  return { quarantine, timeoutMs: Math.max(deadline - performance.now(), 1) }
}

async function firstUnverified(source: FactSource, move: BranchMove): Promise<string | undefined> {
  const { repositories, repositoryId, findUnverified } = source
  // List all ids before reading commits. Two Git processes at once would hold two slots that other
  // calls wait for.
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
