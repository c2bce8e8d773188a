import type { Tx } from '../../../platform/database/schema.ts'
import {
  type PullEventType,
  pullSubject,
  recordEvent,
} from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { queueHookEvents } from '../../webhooks/outbox/webhook-queue.ts'
import { recordTimeline, timelineEventOf } from '../conversation/pull-timeline.ts'
import { type PullMessageType, queuePullDeliveries, type ToldPull } from './pull-deliveries.ts'
import { queuePullNotice } from './pull-notices.ts'
import { type DetailedPullChange, pullHookEvents, usualEvents } from './pull-webhook-events.ts'

/** The type of webhook message for each event. */
const MESSAGE_TYPES: Readonly<Record<PullEventType, PullMessageType>> = {
  PULL_REQUEST_OPENED: 'pull_request.opened',
  PULL_REQUEST_EDITED: 'pull_request.edited',
  PULL_REQUEST_CLOSED: 'pull_request.closed',
  PULL_REQUEST_REOPENED: 'pull_request.reopened',
  PULL_REQUEST_MERGED: 'pull_request.merged',
  PULL_REQUEST_RETARGETED: 'pull_request.retargeted',
  PULL_REQUEST_HEAD_MOVED: 'pull_request.synchronized',
  PULL_REQUEST_AUTO_MERGE_SCHEDULED: 'pull_request.auto_merge_scheduled',
  PULL_REQUEST_AUTO_MERGE_CANCELLED: 'pull_request.auto_merge_cancelled',
  PULL_REQUEST_REVIEW_REQUESTED: 'pull_request.review_requested',
  PULL_REQUEST_REVIEWED: 'pull_request.reviewed',
  PULL_REQUEST_COMMENTED: 'pull_request.commented',
}

/**
 * Records a change of a pull request for its timeline, for the watchers and the webhooks of its
 * repository, for the webhooks of its participants, and for the notifications of users.
 *
 * @param actorId undefined for the server.
 * @param pull the pull request after the change.
 */
export async function recordPullChange(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pull: ToldPull,
  change: PullEventType | DetailedPullChange,
): Promise<void> {
  const { type, told, concerns } =
    typeof change === 'string'
      ? { type: change, told: usualEvents(change), concerns: undefined }
      : change
  await recordEvent(app, tx, {
    repository_id: pull.repository_id,
    type,
    audience: 'pulls',
    actor_id: actorId ?? null,
    subject_id: pull.id,
    subject: pullSubject(pull),
  })
  const event = timelineEventOf(type, pull)
  if (event) await recordTimeline(app, tx, actorId, pull.id, event)
  const timeMs = app.clock.now()
  await queuePullDeliveries(tx, {
    type: MESSAGE_TYPES[type],
    actorId: actorId ?? null,
    pull,
    timeMs,
  })
  await queuePullNotice(tx, { type, actorId: actorId ?? null, pull, timeMs, concerns })
  if (told.length === 0) return
  const eventsOf = () => pullHookEvents(actorId ?? null, pull, told)
  await queueHookEvents(tx, pull.repository_id, eventsOf, timeMs)
}
