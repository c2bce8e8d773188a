import { Sqlite } from '../src/platform/database/sqlite.ts'
import { http1 } from './http1-load.ts'
import { postJson } from './requests.ts'

/** The administrator of the measured servers. */
const ADMINISTRATOR = { username: 'ada', password: 'correct horse battery' }

/** Credentials of the administrator, as sent in requests. */
export interface Credentials {
  readonly accessToken: string
  readonly personalAccessToken: string
}

/** The body of a sign-in by the administrator. */
export const signInBody = { passwordCredentials: ADMINISTRATOR }

/** Creates the first account of a server through its API. */
export async function makeAdministrator(url: URL): Promise<Credentials> {
  await ask(url, '/api/v1/users', ADMINISTRATOR)
  return credentialsOf(url, ADMINISTRATOR)
}

/** Creates an account of a user through the API. */
export async function makeUser(url: URL, administrator: Credentials): Promise<Credentials> {
  const user = { username: 'bob', password: ADMINISTRATOR.password }
  const asAdministrator = { authorization: `Bearer ${administrator.accessToken}` }
  await ask(url, '/api/v1/users', user, asAdministrator)
  return credentialsOf(url, user)
}

async function credentialsOf(
  url: URL,
  user: { readonly username: string; readonly password: string },
): Promise<Credentials> {
  const { accessToken } = await ask(url, '/api/v1/auth/signin', { passwordCredentials: user })
  const authorization = `Bearer ${accessToken}`
  const path = `/api/v1/users/${user.username}/personalAccessTokens`
  const { token } = await ask(url, path, { scopes: ['all'] }, { authorization })
  return { accessToken: String(accessToken), personalAccessToken: String(token) }
}

async function ask(
  url: URL,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await http1.ask(url, postJson(path, body, headers))
  if (answer.status !== 200)
    throw new Error(`POST ${path} is answered ${answer.status}: ${answer.body}`)
  return JSON.parse(answer.body.toString()) as Readonly<Record<string, unknown>>
}

/**
 * Returns the username of an account. All have one length, and so have the responses about them.
 */
export function usernameOf(index: number): string {
  return `user${String(index).padStart(6, '0')}`
}

/** 14 November 2023. Each account is a second younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000

/** The id of the first account. All ids have one length, too. */
export const FIRST_ACCOUNT_ID = 1_000_000

/**
 * Inserts accounts into a database file while the server has it open. The API would hash a password
 * for each.
 */
export function insertAccounts(database: string, count: number): void {
  const sqlite = new Sqlite(database)
  const insertAccount = sqlite.prepare(`insert into accounts (id, kind) values (?, 'USER')`)
  const insertUser =
    sqlite.prepare(`insert into users (id, username, email, email_key, display_name, avatar_url,
    description, password_hash, role, state, create_time, update_time)
    values (?, ?, '', '', 'Somebody with a name', '', 'Writes software.', '', 'USER', 'NORMAL', ?, ?)`)
  const insertName = sqlite.prepare(
    'insert into account_names (name_key, account_id) values (?, ?)',
  )
  sqlite.transaction(() => {
    for (let i = 0; i < count; i++) {
      const time = FIRST_CREATE_TIME_S + i
      const id = FIRST_ACCOUNT_ID + i
      insertAccount.run(id)
      insertUser.run(id, usernameOf(i), time, time)
      insertName.run(usernameOf(i), id)
    }
  })()
  sqlite.close()
}
