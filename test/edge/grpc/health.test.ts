import { create } from '@bufbuild/protobuf'
import { Code, createClient, createHandlerContext } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#gen/health/v1/health_pb.ts'
import { createHealth } from '../../../src/edge/grpc/health.ts'
import { startRpcServer } from '../../platform/rpc/rpc-server.ts'

const known = UserService.typeName
const unknown = 'branchline.v1.NoSuchService'

async function start() {
  const health = createHealth([known])
  const server = await startRpcServer((router) => router.service(Health, health.service))
  return { ...health, ...server, client: createClient(Health, server.transport) }
}

let server: Awaited<ReturnType<typeof start>>
beforeEach(async () => {
  server = await start()
})
afterEach(() => server.stop())

describe('Health.Check', () => {
  it.each([
    ['the whole server', ''],
    ['one service', known],
  ])('answers for %s what setServing said last', async (_, service) => {
    const answers = []
    answers.push(await server.client.check({ service }))
    server.setServing(true)
    answers.push(await server.client.check({ service }))
    server.setServing(false)
    answers.push(await server.client.check({ service }))
    expect(answers.map(({ status }) => status)).toEqual([
      ServingStatus.NOT_SERVING,
      ServingStatus.SERVING,
      ServingStatus.NOT_SERVING,
    ])
  })

  it('returns NOT_FOUND for unknown services', async () => {
    await expect(server.client.check({ service: unknown })).rejects.toMatchObject({
      code: Code.NotFound,
    })
  })
})

describe('Health.Watch', () => {
  it('sends the current status and every change', async () => {
    const statuses = server.client.watch({ service: known })[Symbol.asyncIterator]()
    const next = async () => (await statuses.next()).value?.status
    expect(await next()).toBe(ServingStatus.NOT_SERVING)
    server.setServing(true)
    expect(await next()).toBe(ServingStatus.SERVING)
    server.setServing(true)
    server.setServing(false)
    expect(await next()).toBe(ServingStatus.NOT_SERVING)
  })

  it('sends SERVICE_UNKNOWN for unknown services, and stays open', async () => {
    const statuses = server.client.watch({ service: unknown })[Symbol.asyncIterator]()
    expect((await statuses.next()).value?.status).toBe(ServingStatus.SERVICE_UNKNOWN)
    const later = statuses.next().then(
      () => 'answered',
      () => 'ended by the server',
    )
    // A watch that had ended would have said so before this call, which comes after it on the same
    // connection.
    await server.client.check({})
    expect(await Promise.race([later, Promise.resolve('open')])).toBe('open')
    await server.stop()
    expect(await later).toBe('ended by the server')
    server = await start()
  })

  it('ends when the client disconnects', async () => {
    const url = `${server.url}/${Health.typeName}/Watch`
    const context = createHandlerContext({
      service: Health,
      method: Health.method.watch,
      protocolName: 'grpc',
      requestMethod: 'POST',
      url,
    })
    const request = create(HealthCheckRequestSchema)
    const statuses = server.service.watch(request, context)[Symbol.asyncIterator]()
    await statuses.next()
    const last = statuses.next()
    context.abort()
    expect(await last).toEqual({ done: true, value: undefined })
  })
})

describe('Health.List', () => {
  it('lists the server and every service', async () => {
    server.setServing(true)
    const { statuses } = await server.client.list({})
    expect(Object.entries(statuses).map(([name, { status }]) => [name, status])).toEqual([
      ['', ServingStatus.SERVING],
      [known, ServingStatus.SERVING],
    ])
  })
})
