import type { Tx } from '../../../platform/database/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { type HookFacts, queueHookEvents } from '../../webhooks/outbox/webhook-queue.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'

/** The facts of an event `repository` for webhooks of the forge. */
export interface RepositoryFacts extends HookFacts {
  /** The deleted repository; undefined for a new one. */
  readonly deleted?: DeletedRepository
}

/** The properties of a repository at its deletion. */
export interface DeletedRepository {
  readonly owner: number
  readonly ownerName: string
  readonly name: string
  readonly description: string
  readonly private: boolean
}

/** The facts of an event of a fork for webhooks of its parent. */
export interface ForkFacts extends HookFacts {
  /** The id of the fork. */
  readonly fork: number
}

/**
 * Queues the event that a repository was created, and for a fork the event of its parent, in the
 * transaction that records the first refs. Before it, a failure or a crash removes the repository. The
 * event of a repository into which a project is imported comes at the end of the import.
 *
 * @param actor the number of the account that created it; null if the account was deleted.
 */
export async function queueRepositoryCreated(
  { clock }: ReposApp,
  tx: Tx,
  { id, parent_id: parent }: Pick<Repository, 'id' | 'parent_id'>,
  actor: number | null,
): Promise<void> {
  const facts: RepositoryFacts = { repository: id, actor }
  await queueHookEvents(tx, id, () => [{ type: 'repository', facts }], clock.now())
  if (parent === null) return
  const forkFacts: ForkFacts = { repository: parent, actor, fork: id }
  await queueHookEvents(tx, parent, () => [{ type: 'fork', facts: forkFacts }], clock.now())
}

/**
 * Queues the event that a repository is deleted, in the transaction of its deletion and before the
 * row is deleted. Webhooks of the repository itself are deleted with the repository.
 *
 * @param actor the number of the account that deletes it; null for the owner.
 */
export async function queueRepositoryDeleted(
  { clock }: ReposApp,
  tx: Tx,
  id: number,
  actor: number | null,
): Promise<void> {
  const repository = await findRepositoryById(tx, id)
  const owner = repository && (await findOwnerById(tx, repository.owner_id))
  if (!owner) return
  const { name, description } = repository
  const facts: RepositoryFacts = {
    repository: id,
    actor,
    deleted: {
      owner: owner.id,
      ownerName: owner.name,
      name,
      description,
      private: repository.private === 1,
    },
  }
  await queueHookEvents(tx, id, () => [{ type: 'repository', facts }], clock.now())
}
