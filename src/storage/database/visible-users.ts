import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Visibility } from '../schema/organizations.ts'
import type { Schema } from '../schema/schema.ts'

/** What decides which users somebody may see in a list. */
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
