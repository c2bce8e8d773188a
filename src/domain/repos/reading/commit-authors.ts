import { findUsersByEmailKeys, findUsersByIds } from '../../../storage/accounts/users.ts'
import type { Owner, User } from '../../../storage/schema/accounts.ts'
import { maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import { emailKey } from '../../accounts/users/user-fields.ts'
import type { Caller } from '../../core/access.ts'
import type { ReposApp } from '../ports.ts'

/** Longer ones belong to no account. */
const MAX_EMAIL_CHARACTERS = 320

/** The accounts behind the addresses in commits, by address as it is written there. */
export type Authors = ReadonlyMap<string, Owner>

/**
 * Finds the accounts that own the addresses in some commits, as far as a caller may know of them,
 * by one query or two. An address that a token wrote into an account does not count (see
 * `email_by_token`); the address without mail that the forge shows for an account does.
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

/** The same, whoever may know of them. */
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
 * The number in an address as `noReplyAddress` writes it, whose name may be one that the account
 * had before.
 */
function numberIn(app: ReposApp, email: string): number | undefined {
  const [, id, host] = /^([1-9][0-9]{0,14})\+[^@]+@noreply\.(.+)$/.exec(email) ?? []
  return host === new URL(app.publicUrl()).hostname ? Number(id) : undefined
}
