import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { User, Visibility } from '../core/schema.ts'
import type { IssueSubscriptionsTable } from './schema.ts'

/** Returns whether a user has subscribed to a conversation; undefined without a decision. */
export async function findConversationSubscription(
  db: Db,
  conversationId: number,
  userId: number,
): Promise<boolean | undefined> {
  const row = await db
    .selectFrom('issue_subscriptions')
    .select('subscribed')
    .where('issue_id', '=', conversationId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row && row.subscribed === 1
}

/** Inserts or changes the subscription of a user to a conversation. */
export async function putConversationSubscription(
  tx: Tx,
  subscription: Insertable<IssueSubscriptionsTable>,
): Promise<void> {
  const { subscribed } = subscription
  await tx
    .insertInto('issue_subscriptions')
    .values(subscription)
    .onConflict((conflict) => conflict.columns(['issue_id', 'user_id']).doUpdateSet({ subscribed }))
    .execute()
}

/** The subscribers of a conversation that a viewer may see. */
interface SubscriberSearch {
  readonly conversationId: number
  /** Visibilities of users to find. The viewer is always found. */
  readonly visible: readonly Visibility[]
  /** 0 for an anonymous viewer. */
  readonly viewerId: number
}

/** Returns the active users who have subscribed to a conversation, by id. */
export function listConversationSubscribers(
  db: Db,
  search: SubscriberSearch,
  offset: number,
  limit: number,
): Promise<User[]> {
  return selectSubscribers(db, search)
    .selectAll('users')
    .orderBy('issue_subscriptions.user_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of users in that list. */
export async function countConversationSubscribers(
  db: Db,
  search: SubscriberSearch,
): Promise<number> {
  const { count } = await selectSubscribers(db, search)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectSubscribers(db: Db, { conversationId, visible, viewerId }: SubscriberSearch) {
  return db
    .selectFrom('issue_subscriptions')
    .innerJoin('users', 'users.id', 'issue_subscriptions.user_id')
    .where('issue_subscriptions.issue_id', '=', conversationId)
    .where('issue_subscriptions.subscribed', '=', 1)
    .where('users.state', '=', 'NORMAL')
    .where((eb) => eb.or([eb('users.visibility', 'in', visible), eb('users.id', '=', viewerId)]))
}
