import { sql } from 'kysely'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { selectDeliveries } from '../outbox/webhook-deliveries.rows.ts'
import type { ListeningHook, UserWebhook, WebhookDelivery } from '../schema.ts'

/** Where webhooks of the forge are: at a repository, at an owner of repositories, or everywhere. */
export type HookPlace =
  | { readonly scope: 'repository'; readonly repository_id: number }
  | { readonly scope: 'owner'; readonly owner_id: number }
  | { readonly scope: 'system' }

/** Returns webhooks of a place, in the order of their creation. */
export function listHooks(
  db: Db,
  place: HookPlace,
  offset: number,
  limit: number,
): Promise<UserWebhook[]> {
  return at(db, place).selectAll().orderBy('id').limit(limit).offset(offset).execute()
}

export async function countHooks(db: Db, place: HookPlace): Promise<number> {
  const { count } = await at(db, place)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export function findHook(db: Db, place: HookPlace, id: number): Promise<UserWebhook | undefined> {
  return at(db, place).selectAll().where('id', '=', id).executeTakeFirst()
}

/** Deletes a webhook with its deliveries. */
export async function deleteHook(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('user_webhooks').where('id', '=', id).execute()
}

const listening = prepareQuery((db, repositoryId: number) => {
  const columns = ['id', 'events', 'branch_filter', 'waiting_count'] as const
  const active = () => db.selectFrom('user_webhooks').select(columns).where('disabled', '=', 0)
  // An import of a project is silent until its end.
  const repository = db
    .selectFrom('repositories')
    .where('id', '=', repositoryId)
    .where('importing', '=', 0)
  // Three parts, each with its own index.
  return active()
    .where('repository_id', '=', repository.select('id'))
    .unionAll(active().where('owner_id', '=', repository.select('owner_id')))
    .unionAll(
      active().where((eb) =>
        eb.and([sql<boolean>`scope = 'system'`, eb.exists(repository.select('id'))]),
      ),
    )
})

/**
 * Returns the active webhooks that receive events of a repository: none while a project is imported
 * into the repository.
 */
export function listListeningHooks(db: Db, repositoryId: number): Promise<ListeningHook[]> {
  return listening(db, repositoryId)
}

/** Returns deliveries of a webhook, newest first, with the number of all of them. */
export async function listHookDeliveries(
  db: Db,
  webhookId: number,
  offset: number,
  limit: number,
): Promise<{ deliveries: WebhookDelivery[]; total: number }> {
  const deliveries = await selectDeliveries(db)
    .where('delivery.webhook_id', '=', webhookId)
    .orderBy('delivery.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await db
    .selectFrom('webhook_deliveries')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('webhook_id', '=', webhookId)
    .executeTakeFirstOrThrow()
  return { deliveries, total }
}

function at(db: Db, place: HookPlace) {
  const webhooks = db.selectFrom('user_webhooks')
  if (place.scope === 'repository') return webhooks.where('repository_id', '=', place.repository_id)
  if (place.scope === 'owner') return webhooks.where('owner_id', '=', place.owner_id)
  return webhooks.where(sql<boolean>`scope = 'system'`)
}
