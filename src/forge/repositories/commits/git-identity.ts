import type { Signer } from '../../../platform/git/objects/signers.ts'
import { noReplyAddress, userAsOwner } from '../../accounts/users/owners.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../ports.ts'

/**
 * Returns the Git identity of a user for a change over the API, with the present time. The address
 * is the no-reply address if the user keeps the e-mail address private.
 */
export function gitIdentity(app: ReposApp, { user }: Pick<SignedIn, 'user'>): Signer {
  return {
    name: user.display_name || user.username,
    email: commitEmail(app, user),
    time: nowSeconds(app.clock),
    offsetMinutes: 0,
  }
}

/** Returns the address of an account in commits that the server creates. */
export function commitEmail(app: ReposApp, user: SignedIn['user']): string {
  return (user.keep_email_private === 0 && user.email) || noReplyAddress(app, userAsOwner(user))
}

/**
 * Returns the Git identity of a user for an action of another user. It never contains the e-mail
 * address, which only its owner may publish.
 */
export function publicIdentity(app: ReposApp, user: SignedIn['user']): Signer {
  return { ...gitIdentity(app, { user }), email: noReplyAddress(app, userAsOwner(user)) }
}
