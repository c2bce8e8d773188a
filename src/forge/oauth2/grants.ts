import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { DomainError } from '../core/errors.ts'
import type { Page } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { wakeScheduledMergesBy } from '../pulls/merging/scheduled-merges.rows.ts'
import { listAuthorizationIds } from './authorizations.rows.ts'
import * as rows from './grants.rows.ts'

export type GrantOfApplication = rows.GrantOfApplication

/** Returns a page of what a user has granted to applications, and the number of all grants. */
export async function listGrants(
  app: AccountsApp,
  { id }: User,
  { offset, limit }: Page,
): Promise<{ grants: readonly GrantOfApplication[]; total: number }> {
  return {
    grants: await rows.listGrants(app.db, id, offset, limit),
    total: await rows.countGrants(app.db, id),
  }
}

/**
 * Revokes a grant of a user. The next request with one of its tokens is refused.
 *
 * @throws OAUTH2_GRANT_NOT_FOUND
 */
export async function revokeGrant(app: AccountsApp, { id }: User, grantId: bigint): Promise<void> {
  await transaction(app.db, async (tx) => {
    const grant = await rows.findGrantById(tx, id, Number(grantId))
    if (!grant) throw new DomainError('OAUTH2_GRANT_NOT_FOUND', { id: String(grantId) })
    await cancelScheduledWork(app, tx, { grantId: grant.id })
    await rows.deleteGrant(tx, grant.id)
  })
  app.signals.scheduledMerges.notify()
}

/** Makes the merges due that were scheduled with tokens that end, so that they are cancelled. */
export async function cancelScheduledWork(
  app: AccountsApp,
  tx: Tx,
  by: Parameters<typeof listAuthorizationIds>[1],
): Promise<void> {
  for (const { id, user_id } of await listAuthorizationIds(tx, by))
    await wakeScheduledMergesBy(tx, app.clock.now(), { token_uuid: id, scheduler_id: user_id })
}
