import type { Db } from '../../../platform/database/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type BranchRules, readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { queueIn } from '../../repositories/protection/merge-queue-settings.ts'
import type { Repository } from '../../repositories/schema.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { findPullRequestById, findPullRequestsByIds } from '../heads/pull-requests.rows.ts'
import type { StackedPull } from '../lists/pull-stacks.rows.ts'
import { pullsBelow } from '../lists/pull-stacks.ts'
import type { MergeQueueEntry, PullRequest } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'

/**
 * Stacks in merge queues. A pull request whose base is the head of another open one enters the queue of
 * the lowest, after all those below that are not in the queue yet. Each is a candidate of its own on the
 * candidate of the one below, and brings the changes from the head below to its own head. One that
 * leaves takes those above with it; a merge makes the branch of the queue its base.
 */

/** The place of a pull request above the lowest of a stack that a queue merges. */
export interface StackPlace {
  /** The branch into which the stack goes. */
  readonly branch: string
  /** Head of the pull request below, which merges before. */
  readonly belowHead: string
  /** Ids of all pull requests below that merge before. */
  readonly belowIds: readonly number[]
}

/** Pull requests that enter with one call, and those below that are in the queue already. */
const MAX_STACK = 50

/** A pull request that enters a queue, and its place in the stack. */
export interface EnteringPull {
  readonly pull: PullRequest
  /** Undefined for a pull request into the branch of the queue. */
  readonly place: StackPlace | undefined
  /** The pull request below. */
  readonly below: PullRequest | undefined
}

/** What enters a queue. */
export interface EnteringStack {
  readonly branch: string
  /** From the lowest; the last is the one that was asked for. */
  readonly entering: readonly EnteringPull[]
  /** Pull requests below that are in the queue already. */
  readonly queuedIds: readonly number[]
}

/**
 * Returns what enters the queue with a pull request: the pull request alone, if its base has a queue or
 * nothing leads to one, or all of the stack below that is not in the queue.
 *
 * @throws STACK_TOO_LARGE
 */
export async function enteringStack(
  app: ReposApp,
  caller: SignedIn,
  { repository, units, pull }: OpenPull,
): Promise<EnteringStack> {
  const rules = await readBranchRules(app, repository.id, caller.user.id, units)
  const hasQueue = queueIn(rules.inForceFor(pull.base_branch)) !== undefined
  const found = hasQueue ? undefined : await findWay(app.db, repository, pull, rules)
  // Without any queue, the check of the merge says so, after the rights.
  if (!found) {
    const alone = { pull, place: undefined, below: undefined }
    return { branch: pull.base_branch, entering: [alone], queuedIds: [] }
  }
  if (found.lower.length >= MAX_STACK)
    throw new DomainError('STACK_TOO_LARGE', { limit: String(MAX_STACK) })
  const { branch, lower, queued } = found
  const known = await findPullRequestsByIds(
    app.db,
    lower.map(({ id }) => id),
  )
  const pulls = [...lower.flatMap(({ id }) => known.get(id) ?? []), pull]
  const queuedIds = queued ? [queued, ...(await rows.idsBelow(app.db, queued))] : []
  let below = queued === undefined ? undefined : await findPullRequestById(app.db, queued)
  const belowIds = [...queuedIds]
  const entering: EnteringPull[] = []
  for (const next of pulls) {
    const place = below && { branch, belowHead: below.head_commit, belowIds: [...belowIds] }
    entering.push({ pull: next, place, below })
    below = next
    belowIds.push(next.id)
  }
  return { branch, entering, queuedIds }
}

/** How a stack leads down to a queue. */
interface WayDown {
  /** The branch of the queue. */
  readonly branch: string
  /** Those below that are not in the queue, from the lowest. */
  readonly lower: readonly StackedPull[]
  /** The pull request below all these that is in the queue. */
  readonly queued: number | undefined
}

async function findWay(
  db: Db,
  repository: Repository,
  pull: PullRequest,
  rules: BranchRules,
): Promise<WayDown | undefined> {
  const below = await pullsBelow(db, repository, pull)
  const entries = await rows.entriesOfPulls(
    db,
    below.map(({ id }) => id),
  )
  const lower: StackedPull[] = []
  for (const next of below) {
    const entry = entries.find(
      ({ pull_request_id, leave_time }) => pull_request_id === next.id && leave_time === null,
    )
    const queue = entry && (await rows.findQueueById(db, entry.queue_id))
    if (queue) return { branch: queue.branch, lower, queued: next.id }
    lower.unshift(next)
    if (queueIn(rules.inForceFor(next.base_branch)))
      return { branch: next.base_branch, lower, queued: undefined }
  }
  return undefined
}

/**
 * Returns the branch whose queue takes a pull request with the stack below it; undefined if its base has
 * a queue itself, or if there is none.
 */
export async function stackQueueOf(
  app: ReposApp,
  repository: Repository,
  pull: PullRequest,
): Promise<string | undefined> {
  const rules = await readBranchRules(app, repository.id, undefined, { code: 'none' })
  if (queueIn(rules.inForceFor(pull.base_branch))) return undefined
  return (await findWay(app.db, repository, pull, rules))?.branch
}

/** Returns the place of an entry in a stack; undefined for a pull request into the branch of the queue. */
export async function placeOf(
  db: Db,
  { queue_id, below_id, pull_request_id }: MergeQueueEntry,
): Promise<StackPlace | undefined> {
  const below = below_id === null ? undefined : await findPullRequestById(db, below_id)
  const queue = below && (await rows.findQueueById(db, queue_id))
  if (!below || !queue) return undefined
  const belowIds = await rows.idsBelow(db, pull_request_id)
  return { branch: queue.branch, belowHead: below.head_commit, belowIds }
}
