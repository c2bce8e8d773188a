import { createToken, type TestUsers } from './server.ts'

/**
 * Returns the Authorization header of each caller in a table of cases.
 *
 * @param names `nobody`, `garbage` for a token that does not exist, the name of a test user for the
 *   session of that user, or `bob: read:memo` for a token of bob with one scope. `bob: public-only`
 *   is a token with all scopes that reads public data only.
 */
export async function authorizationsOf<Name extends string>(
  url: string,
  users: TestUsers,
  names: Iterable<Name>,
): Promise<Map<Name, string | undefined>> {
  const authorizations = new Map<Name, string | undefined>()
  for (const name of new Set(names)) {
    authorizations.set(name, await authorizationOf(url, users, name))
  }
  return authorizations
}

async function authorizationOf(
  url: string,
  users: TestUsers,
  name: string,
): Promise<string | undefined> {
  if (name === 'nobody') return undefined
  if (name === 'garbage') return 'Bearer nonsense'
  const [username = '', scope] = name.split(': ')
  const user = users[username as keyof TestUsers]
  if (scope === undefined) return user.authorization
  const scopes = scope === 'public-only' ? ['all', scope] : [scope]
  return `Bearer ${await createToken(url, user, scopes)}`
}
