import type { Tx } from '../../../platform/database/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import { suffices } from '../../core/levels.ts'
import { accessOfUsers } from '../../repositories/access/permissions.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import { queueMessage, webhooksWithinQuota } from '../../webhooks/outbox/waiting-deliveries.ts'
import { insertMessage } from '../../webhooks/outbox/webhook-deliveries.rows.ts'
import type { PullRequest } from '../schema.ts'
import { insertPullMessage, listWebhooksAbout, type OwnedWebhook } from './pull-messages.rows.ts'

/** The types of webhook messages about pull requests. */
export type PullMessageType =
  | 'pull_request.opened'
  | 'pull_request.edited'
  | 'pull_request.closed'
  | 'pull_request.reopened'
  | 'pull_request.merged'
  | 'pull_request.retargeted'
  | 'pull_request.synchronized'
  | 'pull_request.auto_merge_scheduled'
  | 'pull_request.auto_merge_cancelled'
  | 'pull_request.review_requested'
  | 'pull_request.reviewed'
  | 'pull_request.commented'

/** The properties of a pull request that a message stores. */
export type ToldPull = Pick<
  PullRequest,
  'id' | 'repository_id' | 'number' | 'base_branch' | 'head_commit' | 'merge_commit'
>

/** A change of a pull request. */
export interface PullNews {
  readonly type: PullMessageType
  /** Null for the server. */
  readonly actorId: number | null
  /** The pull request after the change. */
  readonly pull: ToldPull
  /** Unix milliseconds. */
  readonly timeMs: number
}

/**
 * Queues a change of a pull request for the webhooks of the participants who may read it, in the
 * transaction of the change. It stores only facts that never change. `messageBody` reads the pull
 * request itself when the message is sent, so that a receiver never gets what was hidden meanwhile,
 * and the transaction stays short.
 *
 * The caller notifies `app.signals.deliveries` after the commit.
 */
export async function queuePullDeliveries(
  tx: Tx,
  { type, actorId, pull, timeMs }: PullNews,
): Promise<void> {
  const webhooks = await ofReaders(tx, pull, await listWebhooksAbout(tx, pull))
  const webhookIds = await webhooksWithinQuota(
    tx,
    webhooks.map(({ id }) => id),
  )
  if (webhookIds.length === 0) return
  const message = await insertMessage(tx, {
    event_type: type,
    body: JSON.stringify({
      type,
      timestamp: new Date(timeMs).toISOString(),
      number: pull.number,
      base: pull.base_branch,
      head_sha: pull.head_commit,
    }),
    create_time: timeMs,
  })
  await insertPullMessage(tx, {
    message_id: message.id,
    pull_request_id: pull.id,
    actor_id: actorId,
  })
  await queueMessage(tx, webhookIds, message, timeMs)
}

/**
 * Returns the webhooks whose owners may read pull requests of a repository. A participant may be
 * archived or may have lost access.
 */
async function ofReaders(
  tx: Tx,
  { repository_id }: ToldPull,
  webhooks: readonly OwnedWebhook[],
): Promise<OwnedWebhook[]> {
  if (webhooks.length === 0) return []
  const repository = await findRepositoryById(tx, repository_id)
  const owner = repository && (await findOwnerById(tx, repository.owner_id))
  if (!owner) return []
  const users = await findUsersByIds(tx, [...new Set(webhooks.map(({ user_id }) => user_id))])
  const access = await accessOfUsers(tx, [...users.values()], repository, owner)
  return webhooks.filter(({ user_id }) => {
    const units = users.get(user_id)?.state === 'NORMAL' ? access.get(user_id) : undefined
    return units !== undefined && suffices(units.pulls, 'read') && suffices(units.code, 'read')
  })
}
