import type { Signer } from '../../../platform/git/objects/signers.ts'
import type { Owner } from '../../accounts/schema.ts'
import { maySeeOwner, noReplyAddress, userAsOwner } from '../../accounts/users/owners.ts'
import { emailKey } from '../../accounts/users/user-fields.ts'
import { findUsersByEmailKeys, findUsersByIds } from '../../accounts/users/users.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { User } from '../../core/schema.ts'
import type { ReposApp } from '../ports.ts'

/** The length of an address. Accounts have no longer ones. */
const MAX_EMAIL_CHARACTERS = 320

/** The accounts of commit authors, by address as the commit has it. */
export type Authors = ReadonlyMap<string, Owner>

/**
 * Finds the accounts with some addresses that a caller can see, with one or two queries. An address
 * that a token wrote into an account does not count (see `email_by_token`). The no-reply address of
 * an account does.
 */
export async function findAuthors(
  app: ReposApp,
  caller: Caller,
  emails: Iterable<string>,
): Promise<Authors> {
  const accounts = await findAccounts(app, emails)
  const owners = new Map([...accounts.values()].map((user) => [user.id, userAsOwner(user)]))
  for (const owner of owners.values())
    if (!(await maySeeOwner(app, caller, owner))) owners.delete(owner.id)
  const authors = new Map<string, Owner>()
  for (const [email, { id }] of accounts) {
    const owner = owners.get(id)
    if (owner) authors.set(email, owner)
  }
  return authors
}

/** Finds the accounts with some addresses, without a check of their visibility. */
export async function findAccounts(
  app: ReposApp,
  emails: Iterable<string>,
): Promise<ReadonlyMap<string, User>> {
  const asked = [...new Set(emails)].filter(
    (email) => email !== '' && email.length <= MAX_EMAIL_CHARACTERS,
  )
  const byEmail = await findUsersByEmailKeys(app.db, asked.map(emailKey))
  const byId = await findUsersByIds(
    app.db,
    asked.flatMap((email) => numberIn(app, email) ?? []),
  )
  const accounts = new Map<string, User>()
  for (const email of asked) {
    const user = byEmail.get(emailKey(email)) ?? byId.get(numberIn(app, email) ?? 0)
    if (user) accounts.set(email, user)
  }
  return accounts
}

/**
 * Returns the account id in a no-reply address, whose name part may be a former name of the
 * account.
 */
function numberIn(app: ReposApp, email: string): number | undefined {
  const [, id, host] = /^([1-9][0-9]{0,14})\+[^@]+@noreply\.(.+)$/.exec(email) ?? []
  return host === new URL(app.publicUrl()).hostname ? Number(id) : undefined
}

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
