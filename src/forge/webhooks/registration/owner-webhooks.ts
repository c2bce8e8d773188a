import type { AccountsApp } from '../../accounts/ports.ts'
import { type Caller, checkSeesPrivate, type SignedIn, signedIn } from '../../core/access.ts'
import { openOrganization, standingIn } from '../../organizations/organization-access.ts'
import { findOrganizationById } from '../../organizations/organizations.rows.ts'
import type { Hook, HookPlace } from './webhooks.ts'

/**
 * Returns the place of the webhooks of an organisation that the caller owns.
 *
 * @param name compared case-insensitively.
 */
export async function organizationHooks(
  app: AccountsApp,
  caller: Caller,
  name: string,
): Promise<HookPlace> {
  checkSeesPrivate(caller)
  const { organization } = await openOrganization(app, caller, name, 'owner')
  return { scope: 'owner', owner_id: organization.id }
}

/** Returns the place of the webhooks of the caller's account. */
export function userHooks(caller: Caller): HookPlace {
  checkSeesPrivate(caller)
  return { scope: 'owner', owner_id: signedIn(caller).user.id }
}

/**
 * Returns the place of the webhooks of the instance. The access rule of a method admits only
 * administrators.
 */
export function systemHooks(caller: Caller): HookPlace {
  checkSeesPrivate(caller)
  return { scope: 'system' }
}

/**
 * Returns whether the account of a webhook may still manage the webhook's place. For a repository,
 * the reader of its events decides.
 *
 * @param account the account for which the webhook acts.
 */
export async function managesPlace(
  app: AccountsApp,
  { scope, owner_id }: Pick<Hook, 'scope' | 'owner_id'>,
  account: SignedIn,
): Promise<boolean> {
  if (scope === 'system') return account.user.role === 'ADMIN'
  if (scope !== 'owner' || owner_id === null || owner_id === account.user.id) return true
  const organization = await findOrganizationById(app.db, owner_id)
  return organization !== undefined && (await standingIn(app, account, organization)).isOwner
}
