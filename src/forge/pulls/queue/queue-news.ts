import type { Tx } from '../../../platform/database/schema.ts'
import { type NotedQueue, recordEvent } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { RefFacts } from '../../webhooks/outbox/ref-observer.ts'
import {
  type HookEvent,
  type HookFacts,
  queueHookEvents,
} from '../../webhooks/outbox/webhook-queue.ts'
import type { MergeQueueGroup } from '../schema.ts'
import { entriesOfGroups } from './merge-queue.rows.ts'

/** What webhooks and watchers are told about the groups of a merge queue. */

/** The facts of an event `merge_group`. */
export interface MergeGroupFacts extends HookFacts {
  readonly action: 'checks_requested' | 'destroyed'
  /** Why the group ended; undefined for a new one. */
  readonly reason: MergeQueueGroup['end_reason'] | undefined
  readonly head: string
  readonly base: string
  /** Full names of refs. */
  readonly ref: string
  readonly baseRef: string
}

/** Tells that the checks of a group are requested. Its ref can be fetched. */
export async function recordRequested(
  app: ReposApp,
  tx: Tx,
  { row, branch, ref }: { row: MergeQueueGroup; branch: string; ref: string },
): Promise<void> {
  const { repository_id, number: group, head_commit: candidate } = row
  const noted: NotedQueue = {
    base: branch,
    number: 0,
    state: '',
    reason: '',
    group,
    ref,
    candidate,
  }
  await recordEvent(app, tx, {
    repository_id,
    type: 'MERGE_QUEUE_GROUP_CREATED',
    audience: 'pulls',
    subject_id: null,
    subject: JSON.stringify(noted),
  })
  await queueGroupEvent(app, tx, { ...row, ref }, 'checks_requested')
}

/** Tells that a group has ended, if its checks were requested. */
export async function queueGroupEnd(
  app: ReposApp,
  tx: Tx,
  row: MergeQueueGroup,
  reason: MergeQueueGroup['end_reason'],
): Promise<void> {
  if (row.request_time !== null) await queueGroupEvent(app, tx, row, 'destroyed', reason)
}

async function queueGroupEvent(
  app: ReposApp,
  tx: Tx,
  row: MergeQueueGroup,
  action: MergeGroupFacts['action'],
  reason?: MergeQueueGroup['end_reason'],
): Promise<void> {
  const { repository_id: repository, head_commit: head, base_commit: base, ref } = row
  const last = (await entriesOfGroups(tx, [row])).at(-1)
  const name = ref ?? ''
  const facts: MergeGroupFacts = {
    repository,
    actor: last?.adder_id ?? null,
    action,
    reason,
    head,
    base,
    ref: name,
    baseRef: name.replace(/^refs\/queue\/\d+\//, 'refs/heads/'),
  }
  const events = (): HookEvent[] => {
    const event: HookEvent = { type: 'merge_group', facts }
    if (action === 'destroyed') return [event]
    const pushed: RefFacts = {
      repository,
      actor: facts.actor,
      ref: name,
      before: null,
      after: head,
    }
    return [event, { type: 'push', facts: pushed, isOfQueue: true }]
  }
  await queueHookEvents(tx, repository, events, app.clock.now())
}
