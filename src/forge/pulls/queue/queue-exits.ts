import type { Tx } from '../../../platform/database/schema.ts'
import {
  type NotedQueue,
  type PullEventType,
  recordEvent,
} from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
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
  | 'HEAD_MOVED'
  | 'CLOSED'
  | 'RETARGETED'
  | 'DRAFT'
  | 'DEQUEUED'
  | 'RIGHT_LOST'
  | 'QUEUE_OFF'

/** The pull request of an entry, as events name it. */
export type QueuedPull = Pick<PullRequest, 'id' | 'repository_id' | 'number' | 'base_branch'>

/**
 * Ends an entry without a merge, unless it has left already. The queue then makes its group again.
 *
 * @param actorId undefined for the server.
 */
export async function leaveQueue(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  { entry, pull }: { readonly entry: MergeQueueEntry; readonly pull: QueuedPull },
  reason: LeaveReason,
): Promise<void> {
  const isFailure = FAILURES.some((code) => code === reason.code)
  const state = isFailure ? ('FAILED' as const) : ('REMOVED' as const)
  const changes = { state, leave_time: app.clock.now(), reason: JSON.stringify(reason) }
  if (!(await rows.updateEntry(tx, entry.id, changes))) return
  await rows.wakeQueue(tx, app.clock.now(), entry.queue_id)
  await recordQueueEvent(app, tx, actorId, pull, { state, reason: reason.code })
}

/** Ends an entry at the decision of the server. */
export async function leaveFor(
  app: ReposApp,
  tx: Tx,
  entry: MergeQueueEntry | undefined,
  reason: LeaveReason,
): Promise<void> {
  const pull = entry && (await findPullRequestById(tx, entry.pull_request_id))
  if (pull) await leaveQueue(app, tx, undefined, { entry, pull }, reason)
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
  const entry = await rows.findEntry(tx, pull.id)
  if (!entry || entry.leave_time !== null) return
  if (change === 'PULL_REQUEST_MERGED' && entry.candidate_commit === pull.merge_commit) {
    const changes = { state: 'MERGED' as const, leave_time: app.clock.now() }
    if (!(await rows.updateEntry(tx, entry.id, changes))) return
    await rows.wakeQueue(tx, app.clock.now(), entry.queue_id)
    return recordQueueEvent(app, tx, actorId, pull, { state: 'MERGED', reason: '' })
  }
  const queue = await rows.findQueueById(tx, entry.queue_id)
  const reason = reasonFor(change, pull, entry, queue?.branch)
  if (reason) await leaveQueue(app, tx, actorId, { entry, pull }, reason)
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
  base: string | undefined,
): LeaveReason | undefined {
  switch (change) {
    case 'PULL_REQUEST_MERGED':
      return { code: 'CLOSED', text: 'the pull request was merged past the queue' }
    case 'PULL_REQUEST_CLOSED':
      return { code: 'CLOSED', text: 'the pull request was closed' }
    case 'PULL_REQUEST_RETARGETED':
      return pull.base_branch === base
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
