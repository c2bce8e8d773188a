import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import { describe, expect, it } from 'vitest'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { openForge } from '../support/forge.ts'

const MAX_MESSAGE_BYTES = 65_536
const LARGE = 'x'.repeat(MAX_MESSAGE_BYTES + 1)

const { server, users } = await openForge({ maxMessageBytes: MAX_MESSAGE_BYTES })

const headers = () => ({ authorization: users.ada.authorization })

/** Each on HTTP/2, where a message may be compressed by the client, too. */
const TRANSPORTS: readonly (readonly [string, () => Transport])[] = [
  ['gRPC', () => createGrpcTransport({ baseUrl: server.url })],
  ['gRPC-Web', () => createGrpcWebTransport({ baseUrl: server.url, httpVersion: '2' })],
  ['Connect JSON', () => createConnectTransport({ baseUrl: server.url, httpVersion: '2' })],
  [
    'Connect binary',
    () => createConnectTransport({ baseUrl: server.url, httpVersion: '2', useBinaryFormat: true }),
  ],
]

const failureOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ConnectError)) throw new Error('the call succeeded', { cause: error })
  return error
}

/**
 * All refusals of too large a message say by which setting the operator may allow it, and for
 * programs why.
 */
function expectTooLarge(error: ConnectError): void {
  expect(error.code).toBe(Code.ResourceExhausted)
  expect(error.rawMessage).toContain(`--max-message-bytes ${MAX_MESSAGE_BYTES}`)
  expect(error.rawMessage).not.toContain('readMaxBytes')
  expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: 'REQUEST_TOO_LARGE' }])
}

describe.each(TRANSPORTS)('a message that is too large, over %s', (_, transport) => {
  it('is rejected with the name of the setting in a unary call', async () => {
    const users = createClient(UserService, transport())
    expectTooLarge(await failureOf(users.getUser({ name: LARGE }, { headers: headers() })))
  })

  it('is rejected with the name of the setting in a streaming call', async () => {
    const events = createClient(EventService, transport())
    const watch = async () => {
      for await (const _ of events.watchEvents({ cursor: LARGE }, { headers: headers() })) break
    }
    expectTooLarge(await failureOf(watch()))
  })
})

it('a message that is too large is rejected with the name of the setting over REST', async () => {
  const response = await fetch(`${server.url}/api/v1/users`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: LARGE }),
  })
  const { message } = (await response.json()) as { message: string }
  expect([response.status, message]).toEqual([
    413,
    expect.stringContaining(`--max-message-bytes ${MAX_MESSAGE_BYTES}`),
  ])
})
