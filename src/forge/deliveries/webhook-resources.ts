import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { openRepositories } from '../repositories/access/permissions.ts'
import type { ReleaseFacts } from '../repositories/activity/repository-events.ts'
import type {
  DeletedRepository,
  ForkFacts,
} from '../repositories/activity/repository-webhook-events.ts'
import type { StatusFacts } from '../repositories/commits/commit-statuses.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import { viewRepository } from '../repositories/lifecycle/repository-views.ts'
import { findRelease } from '../repositories/releases/releases.rows.ts'
import { viewRelease } from '../repositories/releases/releases.ts'
import type { HookFacts } from '../webhooks/outbox/webhook-queue.ts'
import type { DeliveriesApp } from './payloads.ts'
import { type HookSubject, isoTime, lastCommitPayload } from './webhook-pushes.ts'

/**
 * Returns the JSON object of an event `release`; undefined when the release was deleted since. A
 * deleted release has its id and tag only.
 */
export async function releasePayload(
  app: DeliveriesApp,
  { facts, viewer, open, repository, sender }: HookSubject<ReleaseFacts>,
): Promise<object | undefined> {
  const found = await findRelease(app.db, open.repository.id, facts.release)
  if (!found && facts.action !== 'deleted') return undefined
  const release =
    found && facts.action !== 'deleted'
      ? JSON.parse(app.payloads.release(app, viewer, await viewRelease(app, open, found)))
      : { id: facts.release, tag_name: facts.tag }
  return { action: facts.action, release, repository, sender }
}

/** Returns the JSON object of an event `status`. */
export async function statusPayload(
  app: DeliveriesApp,
  subject: HookSubject<StatusFacts>,
): Promise<object> {
  const { facts, repository, sender } = subject
  const { status } = facts
  const time = isoTime(status.create_time)
  return {
    id: status.number,
    sha: status.commit_id,
    state: status.state,
    context: status.context,
    description: status.description,
    target_url: status.target_url,
    created_at: time,
    updated_at: time,
    commit: await lastCommitPayload(app, subject, status.commit_id),
    repository,
    sender,
  }
}

/**
 * Returns the JSON object of an event `fork`, with the original as `forkee` and the fork as
 * `repository`, as in compatible systems; undefined when the fork cannot be read.
 */
export async function forkPayload(
  app: DeliveriesApp,
  { facts, viewer, repository, sender }: HookSubject<ForkFacts>,
): Promise<object | undefined> {
  const found = await findRepositoriesByIds(app.db, [facts.fork])
  const [fork] = await openRepositories(app, viewer, [...found.values()])
  if (!fork) return undefined
  const view = await viewRepository(app, viewer, fork)
  return {
    forkee: repository,
    repository: JSON.parse(app.payloads.repository(app, viewer, view)),
    sender,
  }
}

/**
 * Returns the JSON object of an event `repository`. In compatible systems the member `organization`
 * is the owner, whether a user or an organisation.
 *
 * @param repository the JSON object of the repository.
 */
export function repositoryPayload(
  action: 'created' | 'deleted',
  repository: object,
  sender: object,
): object {
  const organization = 'owner' in repository ? repository.owner : null
  return { action, repository, organization, sender }
}

/**
 * Returns the JSON object of the event that a repository was deleted. A deleted repository has few
 * members.
 */
export async function deletionPayload(
  app: DeliveriesApp,
  viewer: SignedIn,
  { repository: id, actor }: HookFacts,
  { owner: ownerId, ownerName, name, description, private: isPrivate }: DeletedRepository,
): Promise<object> {
  const owner = (await findOwnerById(app.db, ownerId)) ?? GHOST
  const sender = actor === null ? owner : ((await findOwnerById(app.db, actor)) ?? GHOST)
  const repository = {
    id,
    owner: JSON.parse(app.payloads.account(app, viewer, owner)),
    name,
    full_name: `${ownerName}/${name}`,
    description,
    private: isPrivate,
  }
  const senderPayload = JSON.parse(app.payloads.account(app, viewer, sender))
  return repositoryPayload('deleted', repository, senderPayload)
}
