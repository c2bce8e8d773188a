import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'

/** What came of something that a page tried. */
export type Attempt =
  | { readonly value: unknown }
  | { readonly code: string; readonly reason: string | undefined }

/** Protocols that a browser speaks. */
export const BROWSER_PROTOCOLS = [
  'Connect',
  'Connect with GET',
  'Connect binary',
  'gRPC-Web',
] as const
export type BrowserProtocol = (typeof BROWSER_PROTOCOLS)[number]

/**
 * What the page offers to the test: called by name, with arguments and results that survive JSON.
 */
export const page = {
  /** Reads an account, and its address with credentials of the owner. */
  async getUser(
    server: string,
    protocol: BrowserProtocol,
    name: string,
    authorization = '',
  ): Promise<Attempt> {
    const headers = new Headers(authorization === '' ? {} : { authorization })
    return attempt(async () => {
      const user = await createClient(UserService, transportTo(server, protocol)).getUser(
        { name },
        { headers },
      )
      return { username: user.username, email: user.email }
    })
  },

  /** Signs in with credentials, so that the browser keeps the cookie. */
  async signIn(
    server: string,
    protocol: BrowserProtocol,
    username: string,
    password: string,
  ): Promise<Attempt> {
    const value = { username, password }
    return attempt(async () => {
      const client = createClient(AuthService, transportTo(server, protocol, 'include'))
      const { user } = await client.signIn({ credentials: { case: 'passwordCredentials', value } })
      return user?.username
    })
  },

  /** Refreshes by the cookie alone. */
  async refresh(server: string, protocol: BrowserProtocol): Promise<Attempt> {
    return attempt(async () => {
      const { accessToken } = await createClient(
        AuthService,
        transportTo(server, protocol, 'include'),
      ).refreshToken({})
      return accessToken.split('.').length
    })
  },

  /** Fetches, and reads what the browser lets scripts read. */
  async fetch(url: string, init: RequestInit): Promise<Attempt> {
    return attempt(async () => {
      const response = await fetch(url, init)
      return {
        status: response.status,
        requestId: response.headers.get('x-request-id'),
        json: await response.json(),
      }
    })
  },
}

export type Page = typeof page

function transportTo(
  baseUrl: string,
  protocol: BrowserProtocol,
  credentials: 'omit' | 'include' = 'omit',
): Transport {
  const options = {
    baseUrl,
    fetch: (...[input, init]: Parameters<typeof fetch>) => fetch(input, { ...init, credentials }),
  }
  switch (protocol) {
    case 'gRPC-Web':
      return createGrpcWebTransport(options)
    case 'Connect':
      return createConnectTransport(options)
    case 'Connect binary':
      return createConnectTransport({ ...options, useBinaryFormat: true })
    case 'Connect with GET':
      return createConnectTransport({ ...options, useHttpGet: true })
  }
}

async function attempt(action: () => Promise<unknown>): Promise<Attempt> {
  try {
    return { value: await action() }
  } catch (thrown) {
    // What CORS forbids is a TypeError, which says nothing more on purpose.
    if (thrown instanceof TypeError) return { code: 'TypeError', reason: undefined }
    const error = ConnectError.from(thrown)
    const blocked = error.cause instanceof TypeError
    return {
      code: blocked ? 'TypeError' : (Code[error.code] ?? ''),
      reason: error.findDetails(ErrorInfoSchema)[0]?.reason,
    }
  }
}

Object.assign(globalThis, { page })
