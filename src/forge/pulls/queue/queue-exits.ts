import type { Tx } from '../../../platform/database/schema.ts'
import {
  type NotedQueue,
  type PullEventType,
  recordEvent,
} from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findPullRequestById, findPullRequestsByIds } from '../heads/pull-requests.rows.ts'
import { wakeFollowUp } from '../merging/merge-follow-ups.rows.ts'
import type { MergeQueueEntry, PullRequest } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'

/** Entries that leave a merge queue, and their reasons. */

/** Why an entry leaves without a merge. */
export interface LeaveReason {
  readonly code: FailureCode | RemovalCode
  /** A sentence for people. */
  readonly text: string
  /** Paths in conflict. */
  readonly files?: readonly string[]
  /** Contexts that failed or are missing. */
  readonly contexts?: readonly string[]
}

/** The reasons of the state FAILED. */
const FAILURES = [
  'CHECKS_FAILED',
  'TIMED_OUT',
  'CONFLICT',
  'NOT_READY',
  'HOOK_REFUSED',
  'NOTHING_TO_MERGE',
] as const

type FailureCode = (typeof FAILURES)[number]

/** The reasons of the state REMOVED. */
type RemovalCode =
  | 'BELOW_LEFT'
  | 'HEAD_MOVED'
  | 'CLOSED'
  | 'RETARGETED'
  | 'DRAFT'
  | 'DEQUEUED'
  | 'RIGHT_LOST'
  | 'QUEUE_OFF'

/** The pull request of an entry, as events name it. */
export type QueuedPull = Pick<PullRequest, 'id' | 'repository_id' | 'number' | 'base_branch'>

interface LeavingPull {
  readonly entry: MergeQueueEntry
  readonly pull: QueuedPull
}

/**
 * Ends an entry without a merge, unless it has left already. The queue then makes its group again. The
 * entries that stand on the pull request leave, too, unless it was merged past the queue.
 *
 * @param actorId undefined for the server.
 */
export async function leaveQueue(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  leaving: LeavingPull,
  reason: LeaveReason,
): Promise<void> {
  await endEntry(app, tx, actorId, leaving, reason)
  await endAbove(app, tx, actorId, leaving.pull, reason)
}

async function endEntry(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  { entry, pull }: LeavingPull,
  reason: LeaveReason,
): Promise<void> {
  const isFailure = FAILURES.some((code) => code === reason.code)
  const state = isFailure ? ('FAILED' as const) : ('REMOVED' as const)
  const changes = { state, leave_time: app.clock.now(), reason: JSON.stringify(reason) }
  if (!(await rows.updateEntry(tx, entry.id, changes))) return
  await rows.wakeQueue(tx, app.clock.now(), entry.queue_id)
  await wakeBelow(app, tx, entry)
  await recordQueueEvent(app, tx, actorId, pull, { state, reason: reason.code })
}

/** Ends the entries that stand on a pull request, at any height. */
async function endAbove(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  below: Pick<QueuedPull, 'id' | 'number'>,
  { code, text }: LeaveReason,
): Promise<void> {
  const above = await rows.entriesAbove(tx, below.id)
  if (above.length === 0) return
  // Its commits are on the branch.
  if ((await findPullRequestById(tx, below.id))?.state === 'MERGED') return
  const sentence =
    code === 'BELOW_LEFT' ? text : `pull request #${below.number} below left the queue: ${text}`
  for (const entry of above) {
    const pull = await findPullRequestById(tx, entry.pull_request_id)
    const reason = { code: 'BELOW_LEFT', text: sentence } as const
    if (pull) await leaveQueue(app, tx, actorId, { entry, pull }, reason)
  }
}

/** The head branch of a merged pull request is kept while an entry stands on it. */
async function wakeBelow(
  app: ReposApp,
  tx: Tx,
  { below_id }: Pick<MergeQueueEntry, 'below_id'>,
): Promise<void> {
  if (below_id !== null) await wakeFollowUp(tx, below_id, app.clock.now())
}

/** Ends entries at the decision of the server. */
export async function leaveFor(
  app: ReposApp,
  tx: Tx,
  entries: readonly MergeQueueEntry[],
  reason: LeaveReason,
): Promise<void> {
  const pulls = await findPullRequestsByIds(
    tx,
    entries.map(({ pull_request_id }) => pull_request_id),
  )
  const leaving = entries.flatMap((entry) => {
    const pull = pulls.get(entry.pull_request_id)
    return pull ? { entry, pull } : []
  })
  // All have the reason, also those that stand on others.
  for (const one of leaving) await endEntry(app, tx, undefined, one, reason)
  for (const { pull } of leaving) await endAbove(app, tx, undefined, pull, reason)
}

/** Records that an entry has entered or left its queue. */
export async function recordQueueEvent(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  { id, repository_id, number, base_branch: base }: QueuedPull,
  { state, reason }: Pick<NotedQueue, 'state' | 'reason'>,
): Promise<void> {
  const noted: NotedQueue = { base, number, state, reason, group: 0, ref: '', candidate: '' }
  await recordEvent(app, tx, {
    repository_id,
    type: state === 'QUEUED' ? 'MERGE_QUEUE_ENTERED' : 'MERGE_QUEUE_LEFT',
    audience: 'pulls',
    actor_id: actorId ?? null,
    subject_id: id,
    subject: JSON.stringify(noted),
  })
}

/** A pull request after a change. */
type ChangedPull = QueuedPull & Pick<PullRequest, 'head_commit' | 'merge_commit'>

/**
 * Ends the entry of a pull request after a change that the queue does not allow, in the transaction
 * of the change. After the merge by the queue, the entry is merged.
 */
export async function followPull(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pull: ChangedPull,
  change: PullEventType,
): Promise<void> {
  if (!FOLLOWED.has(change)) return
  // A merge of a stack retargets first.
  if (change === 'PULL_REQUEST_RETARGETED' && pull.merge_commit !== null) return
  const entry = await rows.findEntry(tx, pull.id)
  if (!entry || entry.leave_time !== null) return
  if (change === 'PULL_REQUEST_MERGED' && entry.candidate_commit === pull.merge_commit) {
    const changes = { state: 'MERGED' as const, leave_time: app.clock.now() }
    if (!(await rows.updateEntry(tx, entry.id, changes))) return
    await rows.wakeQueue(tx, app.clock.now(), entry.queue_id)
    await wakeBelow(app, tx, entry)
    return recordQueueEvent(app, tx, actorId, pull, { state: 'MERGED', reason: '' })
  }
  const reason = reasonFor(change, pull, entry, await basesOf(tx, entry))
  if (reason) await leaveQueue(app, tx, actorId, { entry, pull }, reason)
}

/** Returns the bases with which the pull request of an entry stays in its queue. */
async function basesOf(tx: Tx, { queue_id, below_id }: MergeQueueEntry): Promise<string[]> {
  const queue = await rows.findQueueById(tx, queue_id)
  const own = queue ? [queue.branch] : []
  const below = below_id === null ? undefined : await findPullRequestById(tx, below_id)
  if (!below) return own
  return below.state === 'MERGED' ? [...own, below.head_branch] : [below.head_branch]
}

const FOLLOWED: ReadonlySet<PullEventType> = new Set([
  'PULL_REQUEST_MERGED',
  'PULL_REQUEST_CLOSED',
  'PULL_REQUEST_RETARGETED',
  'PULL_REQUEST_HEAD_MOVED',
])

function reasonFor(
  change: PullEventType,
  pull: ChangedPull,
  entry: MergeQueueEntry,
  bases: readonly string[],
): LeaveReason | undefined {
  switch (change) {
    case 'PULL_REQUEST_MERGED':
      return { code: 'CLOSED', text: 'the pull request was merged past the queue' }
    case 'PULL_REQUEST_CLOSED':
      return { code: 'CLOSED', text: 'the pull request was closed' }
    case 'PULL_REQUEST_RETARGETED':
      return bases.includes(pull.base_branch)
        ? undefined
        : { code: 'RETARGETED', text: `the base branch is ${pull.base_branch} now` }
    default:
      return pull.head_commit === entry.head_commit ? undefined : HEAD_MOVED
  }
}

/** The reason of an entry whose pull request has other commits. */
export const HEAD_MOVED: LeaveReason = {
  code: 'HEAD_MOVED',
  text: 'the pull request has other commits than when it entered',
}

/** The reason of an entry whose pull request is not finished. */
export const DRAFT: LeaveReason = {
  code: 'DRAFT',
  text: 'the pull request is marked as work in progress',
}

/** Ends the entry of a pull request that became work in progress. */
export async function leaveAsDraft(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  pull: QueuedPull,
): Promise<void> {
  const entry = await rows.findEntry(tx, pull.id)
  if (entry && entry.leave_time === null) await leaveQueue(app, tx, actorId, { entry, pull }, DRAFT)
}
