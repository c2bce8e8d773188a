import type { Signer } from '../../../git/objects/signers.ts'
import { noReplyAddress, userAsOwner } from '../../accounts/users/owners.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../ports.ts'

/**
 * How Git is to name somebody who does something over the API, now: by their address, unless they
 * keep that private.
 */
export function gitIdentity(app: ReposApp, { user }: Pick<SignedIn, 'user'>): Signer {
  return {
    name: user.display_name || user.username,
    email: commitEmail(app, user),
    time: nowSeconds(app.clock),
    offsetMinutes: 0,
  }
}

/** The address of an account in commits that the server makes. */
export function commitEmail(app: ReposApp, user: SignedIn['user']): string {
  return (user.keep_email_private === 0 && user.email) || noReplyAddress(app, userAsOwner(user))
}

/**
 * How Git is to name somebody for what somebody else does: only they tell the world their address.
 */
export function publicIdentity(app: ReposApp, user: SignedIn['user']): Signer {
  return { ...gitIdentity(app, { user }), email: noReplyAddress(app, userAsOwner(user)) }
}
