import { type Actor, createToken, type TestUsers } from './server.ts'

/**
 * Who makes a call, by a name for tables of cases.
 *
 * @param name `nobody`, one of the users, a scope for bob by a token with that scope, or
 *   `public-only` for bob by a token with all scopes that sees public data only.
 */
export async function callerNamed(
  url: string,
  users: TestUsers,
  name: string,
): Promise<Pick<Actor, 'authorization'> | undefined> {
  if (name === 'nobody') return undefined
  if (name === 'ada' || name === 'bob' || name === 'carol') return users[name]
  return tokenOf(url, users.bob, name === 'public-only' ? ['all', name] : [name])
}

/** Somebody by a new personal access token. */
export async function tokenOf(url: string, owner: Actor, scopes: string[]): Promise<Actor> {
  return { ...owner, authorization: `token ${await createToken(url, owner, scopes)}` }
}
