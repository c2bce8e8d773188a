import { type AliasableExpression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import type { User, Visibility } from '../../core/schema.ts'

/** Conditions for the users that a caller may see in a list. */
export interface UserViewer {
  readonly visible: readonly Visibility[]
  /** The user who looks, and always sees themselves; undefined for an anonymous caller. */
  readonly viewerId: number | undefined
}

/**
 * Selects the ids of the users that a viewer may not see. They are few and have an index, so a list
 * counts them instead of all others.
 */
export function selectHiddenUsers(
  eb: Pick<ExpressionBuilder<Schema, 'users'>, 'selectFrom'>,
  { visible, viewerId }: UserViewer,
) {
  return eb
    .selectFrom('users')
    .select('users.id')
    .where('users.visibility', '<>', sql.lit('public' as const))
    .where('users.visibility', 'not in', visible)
    .where(sql<SqlBool>`users.id <> ${viewerId ?? 0}`)
}

/** Returns the users of a page of a list, in the order of their times in the list, then by id. */
export function usersOfPage(
  db: Db,
  page: AliasableExpression<{ readonly user_id: number; readonly time: number }>,
): Promise<User[]> {
  return db
    .selectFrom(page.as('page'))
    .innerJoin('users', 'users.id', 'page.user_id')
    .selectAll('users')
    .orderBy('page.time')
    .orderBy('page.user_id')
    .execute()
}
