import { findUserIdsByNameKeys } from '../accounts/users/users.rows.ts'
import { nameKey } from '../core/names.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { identitiesOf } from './project-imports.rows.ts'
import type { SourcePerson } from './project-records.ts'

/** Returns which people of a record have an account here, by their id or login there. */
export type AccountFinder = (
  people: readonly SourcePerson[],
) => Promise<(person: SourcePerson) => number | undefined>

/** The claims that have the id and the login of an account at forges that are providers. */
export const ID_CLAIMS = ['id', 'sub']
export const LOGIN_CLAIMS = ['login', 'username', 'preferred_username', 'nickname']

/**
 * Finds accounts that are linked to a person of the source.
 *
 * @param origin the origin that a provider of identities has, if its accounts are those of the source.
 */
export function linkedAccounts(app: ReposApp, origin: string): AccountFinder {
  return async (people) => {
    const names = people.flatMap(({ id, login }) => [String(id), login])
    const accounts = await identitiesOf(app.db, origin, [...new Set(names)])
    const first = (claims: readonly string[], value: string) =>
      claims.map((claim) => accounts.get(`${claim} ${value}`)).find((id) => id !== undefined)
    return ({ id, login }) =>
      (id > 0 ? first(ID_CLAIMS, String(id)) : undefined) ??
      (login !== '' ? first(LOGIN_CLAIMS, login) : undefined)
  }
}

/**
 * Finds accounts by their names, for an administrator who imports an archive. An archive of somebody else
 * could name anybody.
 */
export function namedAccounts(app: ReposApp): AccountFinder {
  return async (people) => {
    const keys = [...new Set(people.map(({ login }) => nameKey(login)))]
    const accounts = await findUserIdsByNameKeys(app.db, keys)
    return ({ login }) => accounts.get(nameKey(login))
  }
}

/** Finds no accounts: who imports stands for all authors. */
export const noAccounts: AccountFinder = async () => () => undefined
