import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely'
import { numbersOf } from '../../../platform/database/prepared.ts'
import type { Schema, Tx } from '../../../platform/database/schema.ts'
import { readableToUser } from './repository-readers.rows.ts'

/** Among whom and where access may have been lost. What is undefined means all. */
export interface LostAccess {
  readonly userIds?: readonly number[]
  readonly repositoryIds?: readonly number[]
  /** The owner of the repositories. */
  readonly ownerId?: number
}

/**
 * Deletes the stars and the subscriptions of users on repositories that they can read no more. Every
 * change that takes access away from users calls this in its transaction, after the change.
 *
 * A change of visibility does not: it hides a repository from everybody, maybe for a day, and the
 * deletion of thousands of stars of one repository is slow on PostgreSQL, where each one changes the
 * same counter. What such users cannot read, their lists leave out.
 */
export async function forgetUnreadable(tx: Tx, scope: LostAccess): Promise<void> {
  await tx.deleteFrom('stars').where(unreadable('stars', scope)).execute()
  await tx
    .deleteFrom('repository_subscriptions')
    .where(unreadable('repository_subscriptions', scope))
    .execute()
}

function unreadable(
  table: 'stars' | 'repository_subscriptions',
  { userIds, repositoryIds, ownerId }: LostAccess,
): Expression<SqlBool> {
  const eb = expressionBuilder<Schema, 'repositories'>()
  const userId = sql.ref<number>(`${table}.user_id`)
  const repositoryId = sql.ref<number>(`${table}.repository_id`)
  const among = (ids: readonly number[]) => numbersOf(JSON.stringify(ids))
  const owned = eb.selectFrom('repositories').select('id')
  const readable = eb
    .selectFrom('repositories')
    .select('repositories.id')
    .where('repositories.id', '=', repositoryId)
    .where(readableToOne(userId))
  return eb.and([
    ...(userIds ? [eb(userId, 'in', among(userIds))] : []),
    ...(repositoryIds ? [eb(repositoryId, 'in', among(repositoryIds))] : []),
    ...(ownerId === undefined
      ? []
      : [eb(repositoryId, 'in', owned.where('owner_id', '=', ownerId))]),
    eb.not(eb.exists(readable)),
  ])
}

/** The condition under which the user of a row can read a repository, by any credential. */
function readableToOne(userId: Expression<number>): Expression<SqlBool> {
  const eb = expressionBuilder<Schema, 'repositories'>()
  const user = eb.selectFrom('users').select('users.id').where('users.id', '=', userId)
  return eb.or([
    readableToUser(userId, 'restricted')(eb),
    eb.and([
      eb.exists(user.where('restricted', '=', sql.lit(0))),
      readableToUser(userId, 'unrestricted')(eb),
    ]),
    eb.exists(user.where('role', '=', sql.lit('ADMIN' as const))),
  ])
}
