import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import {
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const signIn = AuthService.method.signIn
const watch = Object.values(EventService.method).find(
  ({ methodKind }) => methodKind === 'server_streaming',
)

/** A method with the types of one that is served, under a name that is not. */
function renamed<T extends object>(method: T): T {
  return Object.create(method, { name: { value: 'NoSuchMethod' } })
}

describe('a method that is not served', () => {
  it.each(RPC_PROTOCOLS)('is UNIMPLEMENTED in %s', async (protocol) => {
    const transport = transportTo(server.url, protocol)
    const unary = transport.unary(renamed(signIn), undefined, undefined, undefined, {})
    await expect(unary).rejects.toMatchObject({
      code: Code.Unimplemented,
      rawMessage: 'this method is not served',
    })

    if (watch?.methodKind !== 'server_streaming') throw new Error('the schema has no such method')
    async function* requests() {
      yield {}
    }
    const read = async () => {
      const { message } = await transport.stream(
        renamed(watch),
        undefined,
        undefined,
        undefined,
        requests(),
      )
      for await (const _ of message) throw new Error('it is served')
    }
    const error = ConnectError.from(await read().catch((thrown: unknown) => thrown))
    expect([error.code, error.rawMessage]).toEqual([
      Code.Unimplemented,
      'this method is not served',
    ])
  })

  it.each([
    ['JSON', 'POST', '/branchline.v1.AuthService/NoSuchMethod', 'application/json'],
    ['binary', 'POST', '/branchline.v1.AuthService/NoSuchMethod', 'application/proto'],
    ['an unknown service', 'POST', '/no.such.Service/Method', 'application/json; charset=utf-8'],
    ['GET', 'GET', '/no.such.Service/Method?connect=v1&encoding=json&message=%7B%7D', undefined],
  ])(
    'is an error of the Connect protocol without its version header: %s',
    async (_, method, path, contentType) => {
      const response = await fetch(server.url + path, {
        method,
        headers: contentType === undefined ? {} : { 'content-type': contentType },
        ...(method === 'POST' && { body: '{}' }),
      })
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(response.headers.get('x-request-id')).not.toBeNull()
      expect(await response.json()).toEqual({
        code: 'unimplemented',
        message: 'this method is not served',
      })
    },
  )

  it('is a REST error on other paths', async () => {
    const response = await fetch(`${server.url}/api/v1/nothing`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect([response.status, response.headers.get('x-error-reason')]).toEqual([404, 'UNKNOWN_PATH'])
  })
})
