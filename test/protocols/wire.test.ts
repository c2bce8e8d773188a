import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { callUnary } from '../clients/grpc-client.ts'
import { openForge } from '../support/forge.ts'
import { RPC_PROTOCOLS, transportTo } from '../support/server.ts'

const { server } = await openForge({ limitLoopback: true })

const NAMES = ['users/nobody', 'users/a b/%2F', 'users/Zoë "and" 日本\n']

describe('the message of an error', () => {
  it.each(NAMES)('is decoded by grpc-js: %j', async (name) => {
    const client = new Client(new URL(server.url).host, credentials.createInsecure())
    const error = await callUnary(client, UserService.method.getUser, { name }).then(
      () => undefined,
      (thrown: ServiceError) => thrown,
    )
    client.close()
    const { message } = (await (
      await fetch(`${server.url}/branchline.v1.UserService/GetUser`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      })
    ).json()) as { message: string }
    expect(error?.details).toBe(message)
    expect(message).toContain(name.split('/')[1]?.split(' ')[0])
  })

  it.each(RPC_PROTOCOLS.flatMap((protocol) => NAMES.map((name) => [protocol, name] as const)))(
    'is the same over %s: %j',
    async (protocol, name) => {
      const error = await createClient(UserService, transportTo(server.url, protocol))
        .getUser({ name })
        .catch((thrown: unknown) => ConnectError.from(thrown))
      const other = await createClient(UserService, transportTo(server.url, 'Connect JSON'))
        .getUser({ name })
        .catch((thrown: unknown) => ConnectError.from(thrown))
      expect(error).toMatchObject({
        rawMessage: (other as ConnectError).rawMessage,
        code: (other as ConnectError).code,
      })
    },
  )

  it.each(RPC_PROTOCOLS)('of a stream is the same over %s', async (protocol) => {
    const client = createClient(RepositoryEventService, transportTo(server.url, protocol))
    const read = async () => {
      for await (const _ of client.watchRepository({ owner: 'no/body', repo: 'x' }));
    }
    const error = await read().catch((thrown: unknown) => ConnectError.from(thrown))
    expect(error).toMatchObject({ code: Code.NotFound })
  })
})

describe('an unsupported HTTP method', () => {
  it.each([
    ['an RPC', 'DELETE', '/branchline.v1.UserService/UpdateUser', 'POST'],
    ['an RPC that only reads', 'PUT', '/branchline.v1.UserService/GetUser', 'POST, GET'],
    ['a page', 'POST', '/healthz', 'GET, HEAD'],
    ['a page for operators', 'DELETE', '/metrics', 'GET, HEAD'],
    ['the document of the API', 'POST', '/openapi.json', 'GET, HEAD'],
    ['REST', 'PUT', '/api/v1/users/bob', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['a fetch of Git', 'GET', '/bob/site.git/git-upload-pack', 'POST'],
    ['the refs of Git', 'POST', '/bob/site.git/info/refs?service=git-upload-pack', 'GET'],
  ])('of %s is rejected with the supported methods: %s %s', async (_, method, path, allow) => {
    const answer = await fetch(server.url + path, { method })
    await answer.text()
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  })
})

describe('guesses over Git', () => {
  it('get the time of the next attempt', async () => {
    let last: Response | undefined
    for (let i = 0; i < 40 && last?.status !== 429; i++) {
      const authorization = `Basic ${Buffer.from(`carol:guess ${i}`).toString('base64')}`
      last = await fetch(`${server.url}/bob/site.git/info/refs?service=git-upload-pack`, {
        headers: { authorization },
      })
      await last.text()
    }
    expect(last?.status).toBe(429)
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
