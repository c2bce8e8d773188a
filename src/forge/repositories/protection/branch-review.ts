import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { readCommits } from '../../../platform/git/history/history.ts'
import {
  type BranchMove,
  findLargeFile,
  listChangedPaths,
  listNewCommits,
  losesCommits,
  type MoveReading,
} from '../../../platform/git/history/new-commits.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import type { Repositories } from '../../../platform/git/repositories/repositories.ts'
import { DomainError, type Reason } from '../../core/errors.ts'
import { findUnverified } from '../commits/commit-verification.ts'
import { reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import type { BranchRules } from './branch-rules.ts'
import { type RefusedCommit, refusedPart } from './commit-rules.ts'
import {
  allowsForcePush,
  type BranchChange,
  type BranchRule,
  type ChangeFacts,
  checkChange,
  type FactsNeeded,
  FileExamination,
  type FileFacts,
  factsNeeded,
  type MergeOfPull,
  type MergePush,
  NO_FACTS,
  type RuleInForce,
} from './protection-rules.ts'

/** The reason why a branch update is refused. */
export interface BranchJudgement {
  /** Message to the pusher. */
  readonly text: string
  readonly reason: Extract<Reason, 'BRANCH_PROTECTED' | 'REF_REFUSED'>
}

/**
 * The time that Git has to gather the facts about one push. Each branch takes one or two Git
 * processes.
 */
const MAX_EXAMINATION_MS = 30_000

/**
 * The time for matching branch names with rules in one push. A user can choose both so that
 * matching is slow.
 */
const MAX_MATCHING_MS = 10_000

/**
 * Returns a function that checks each branch update of one push against the branch protections. It
 * asks Git only for the facts that a rule needs, and for none if no rule applies.
 *
 * @param quarantine folder of the quarantined objects of the push; undefined for objects that the
 *   server stored itself
 * @param merge the merge of a pull request that the push is part of
 * @returns a function that returns undefined if the update is allowed, and throws SERVER_BUSY or
 *   GIT_TIMEOUT
 */
export function branchJudge(
  app: ReposApp,
  { id: repositoryId, default_branch }: Repository,
  rules: BranchRules,
  quarantine: string | undefined,
  merge?: MergePush,
): (update: RefUpdate) => Promise<BranchJudgement | undefined> {
  const source: FactSource = {
    repositories: app.git,
    repositoryId,
    quarantine,
    deadline: performance.now() + MAX_EXAMINATION_MS,
    findUnverified: (commits) => findUnverified(app, commits),
  }
  let matchingMs = 0
  return async ({ name, from, to }) => {
    if (!name.startsWith(HEADS)) return undefined
    const branch = name.slice(HEADS.length)
    const kind = to === undefined ? 'delete' : from === undefined ? 'create' : 'update'
    const pushed = { branch, kind, isDefault: branch === default_branch } as const
    if (matchingMs > MAX_MATCHING_MS) {
      return {
        text: 'it takes too long to check so many branches for protection',
        reason: 'REF_REFUSED',
      }
    }
    const began = performance.now()
    const inForce = rules.inForceFor(branch)
    matchingMs += performance.now() - began
    const change: BranchChange = merge
      ? { ...pushed, merge: await stateOf(merge, inForce) }
      : pushed
    const needed = inForce && factsNeeded(inForce, change)
    let facts = NO_FACTS
    if (to !== undefined && needed && Object.values(needed).includes(true)) {
      try {
        facts = await gatherFacts(source, inForce.rule, { from, to }, needed)
      } catch (error) {
        if (!(error instanceof GitError && error.kind === 'NOT_FOUND')) throw error
        return {
          text: `branch ${branch} moves from the commit that it is at, and to a commit`,
          reason: 'REF_REFUSED',
        }
      }
    }
    const text = checkChange(inForce, change, facts)
    if (text === undefined) return undefined
    return { text, reason: inForce ? 'BRANCH_PROTECTED' : 'REF_REFUSED' }
  }
}

/** Returns the state of a merge. Without a rule, every pull request is ready. */
async function stateOf(
  { pull, problemOf }: MergePush,
  inForce: RuleInForce | undefined,
): Promise<MergeOfPull> {
  return { number: pull.number, problem: inForce && (await problemOf(inForce.rule)) }
}

/**
 * Finds the first commit whose signature is missing or not verified.
 *
 * @returns the id of the commit; undefined if all signatures are verified
 */
type FindUnverified = (commits: readonly RawCommit[]) => Promise<string | undefined>

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
  const commits =
    needed.signatures || needed.commits
      ? await reading(examineCommits(source, rule, move, needed))
      : NO_FACTS
  if (commits.unverifiedCommit !== undefined || commits.refusedCommit !== undefined)
    return { ...NO_FACTS, isForced, ...commits }
  const largeFile = needed.sizes
    ? await reading(
        findLargeFile(repositories, repositoryId, move, rule.max_file_bytes, limitsOf(source)),
      )
    : undefined
  if (largeFile !== undefined || !needed.files) return { ...NO_FACTS, isForced, largeFile }
  return { ...NO_FACTS, isForced, files: await reading(examineFiles(source, rule, move)) }
}

/** Returns the limits of one Git process, which times out at the deadline. */
function limitsOf({ quarantine, deadline }: FactSource): MoveReading {
  return { quarantine, timeoutMs: Math.max(deadline - performance.now(), 1) }
}

/** The new commits that a rule refuses. */
type CommitFacts = Pick<ChangeFacts, 'unverifiedCommit' | 'refusedCommit'>

async function examineCommits(
  source: FactSource,
  rule: BranchRule,
  move: BranchMove,
  needed: FactsNeeded,
): Promise<CommitFacts> {
  const { repositories, repositoryId, findUnverified } = source
  const { refusedCommit } = NO_FACTS
  // List all ids before reading commits. Two Git processes at once would hold two slots that other
  // calls wait for.
  const ids: string[] = []
  for await (const id of listNewCommits(repositories, repositoryId, move, limitsOf(source))) {
    ids.push(id)
    if (needed.signatures && ids.length > MAX_VERIFIED_COMMITS)
      return { unverifiedCommit: id, refusedCommit }
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
    const unread = batch.find((id) => !commits.has(id))
    if (needed.signatures) {
      const unverifiedCommit = unread ?? (await findUnverified([...commits.values()]))
      if (unverifiedCommit !== undefined) return { unverifiedCommit, refusedCommit }
    }
    if (needed.commits) {
      const refused = await findRefused(source, rule, commits.values())
      if (refused) return { unverifiedCommit: undefined, refusedCommit: refused }
    }
  }
  return NO_FACTS
}

/** Finds the first commit whose message or author a rule refuses. */
async function findRefused(
  { deadline }: FactSource,
  rule: BranchRule,
  commits: Iterable<RawCommit>,
): Promise<RefusedCommit | undefined> {
  const yielder = createYielder()
  for (const commit of commits) {
    const part = refusedPart(rule, commit)
    if (part) return { id: commit.id, part }
    const pause = yielder.yield()
    if (pause) await pause
    if (performance.now() > deadline) throw new DomainError('GIT_TIMEOUT')
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
