import { createHash, randomBytes } from 'node:crypto'
import { type Browser, openBrowser } from './browser.ts'
import type { Forge } from './forge.ts'
import { type Actor, PASSWORD } from './server.ts'

/** A registered application. */
export interface Client {
  readonly id: number
  readonly client_id: string
  readonly client_secret: string
}

/** Where the applications of tests get their codes. */
export const CALLBACK = 'https://ci.example.org/authorize'

/** Registers an application of somebody. */
export async function register(
  { ask }: Pick<Forge, 'ask'>,
  who: Actor,
  values: Readonly<Record<string, unknown>> = {},
): Promise<Client> {
  const application = {
    name: 'Woodpecker',
    confidential_client: true,
    redirect_uris: [CALLBACK],
    ...values,
  }
  return ask(who, 'POST', '/user/applications/oauth2', application) as Promise<Client>
}

/** The verifier and challenge of PKCE. */
export interface Pkce {
  readonly verifier: string
  readonly challenge: string
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Parameters of a request; undefined leaves one out. */
export type Parameters = Readonly<Record<string, string | undefined>>

/** Returns the address of an authorization request. */
export function authorizationUrl(serverUrl: string, parameters: Parameters): string {
  const given = Object.entries({ response_type: 'code', ...parameters }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return `${serverUrl}/login/oauth/authorize?${new URLSearchParams(given)}`
}

/** Signs somebody in on the page that a browser shows. */
export function signInOn(browser: Browser, username: string, password = PASSWORD) {
  return browser.press('sign-in', { username, password })
}

/** Signs somebody in to a client in a new browser, and returns the parameters that come back. */
export async function authorize(
  serverUrl: string,
  username: string,
  parameters: Parameters,
  browser = openBrowser(serverUrl),
): Promise<URLSearchParams> {
  let visited = await browser.open(authorizationUrl(serverUrl, parameters))
  if (visited.body.includes('value="sign-in"')) visited = await signInOn(browser, username)
  if (visited.body.includes('value="allow"')) visited = await browser.press('allow')
  const location = visited.headers.get('location')
  if (location === null) throw new Error(`no redirect: ${visited.status} ${visited.body}`)
  return new URL(location).searchParams
}

/** What an endpoint for programs answered. */
export interface EndpointAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test fails when a member is missing
  readonly body: any
  readonly headers: Headers
}

/** Sends a form to an endpoint, with the credentials of a client in it if there is one. */
export async function postForm(
  url: string,
  form: Parameters,
  headers: Readonly<Record<string, string>> = {},
): Promise<EndpointAnswer> {
  const given = Object.entries(form).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(given), headers })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : JSON.parse(text),
  }
}

/** The `Authorization` header of a client. */
export function basicOf({ client_id, client_secret }: Client): { authorization: string } {
  return {
    authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
  }
}

/** Redeems a code, or refreshes, as a confidential client. */
export function askToken(
  serverUrl: string,
  client: Pick<Client, 'client_id'> & Partial<Client>,
  form: Parameters,
): Promise<EndpointAnswer> {
  return postForm(`${serverUrl}/login/oauth/access_token`, {
    client_id: client.client_id,
    client_secret: client.client_secret,
    ...form,
  })
}

/** Signs somebody in to a confidential client without PKCE, and returns the tokens. */
export async function tokensOf(
  serverUrl: string,
  username: string,
  client: Client,
  parameters: Parameters = {},
): Promise<EndpointAnswer['body']> {
  const asked = { client_id: client.client_id, redirect_uri: CALLBACK, state: 's', ...parameters }
  const code = (await authorize(serverUrl, username, asked)).get('code') ?? ''
  const { status, body } = await askToken(serverUrl, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
