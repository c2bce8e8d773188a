import { insertTimelineEntry } from '../../../storage/pulls/pull-timeline.ts'
import type { PullTimelineTable } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { PullEventType } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import type { ToldPull } from './pull-deliveries.ts'

/** An event of the timeline. Values that it has not are empty. */
export interface TimelineEvent {
  readonly type: PullTimelineTable['type']
  readonly oldValue?: string
  readonly newValue?: string
}

/**
 * Adds an event to the timeline of a pull request, in the transaction of the change.
 *
 * @param actorId undefined for the server.
 */
export async function recordTimeline(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
  { type, oldValue = '', newValue = '' }: TimelineEvent,
): Promise<void> {
  await insertTimelineEntry(tx, {
    pull_request_id: pullId,
    type,
    actor_id: actorId ?? null,
    create_time: nowSeconds(app.clock),
    old_value: oldValue,
    new_value: newValue,
  })
}

/**
 * Returns the event of a change that needs nothing but the pull request after it. Undefined for
 * changes that have no event, or whose event their writers record with the values before.
 */
export function timelineEventOf(
  type: PullEventType,
  { head_commit, merge_commit }: Pick<ToldPull, 'head_commit' | 'merge_commit'>,
): TimelineEvent | undefined {
  switch (type) {
    case 'PULL_REQUEST_CLOSED':
      return { type: 'close' }
    case 'PULL_REQUEST_REOPENED':
      return { type: 'reopen' }
    case 'PULL_REQUEST_MERGED':
      return { type: 'merge_pull', newValue: merge_commit ?? '' }
    case 'PULL_REQUEST_HEAD_MOVED':
      return { type: 'pull_push', newValue: head_commit }
    case 'PULL_REQUEST_AUTO_MERGE_SCHEDULED':
      return { type: 'pull_scheduled_merge' }
    case 'PULL_REQUEST_AUTO_MERGE_CANCELLED':
      return { type: 'pull_cancel_scheduled_merge' }
    default:
      return undefined
  }
}
