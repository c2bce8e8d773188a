import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type ServiceImpl,
} from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/health/v1/health_pb.ts'
import { createLogTo } from '../../../src/app/log.ts'
import { observeInterceptor } from '../../../src/edge/call-limits/observation.ts'
import { createMetrics } from '../../../src/edge/operator-pages/metrics.ts'
import { DomainError } from '../../../src/forge/core/errors.ts'

/** A client of a service behind the interceptor, with everything that it logged and counted. */
function observed(service: Partial<ServiceImpl<typeof Health>>) {
  const logged: Record<string, unknown>[] = []
  const log = createLogTo({ write: (line) => logged.push(JSON.parse(line)) }, 'info')
  const metrics = createMetrics(
    () => undefined,
    async () => {
      throw new Error('there is no database')
    },
  )
  const transport = createRouterTransport(({ service: register }) => register(Health, service), {
    router: { interceptors: [observeInterceptor(log, metrics)] },
  })
  return { client: createClient(Health, transport), logged, metrics }
}

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error),
  )

describe('an error of a handler', () => {
  it('is returned as the refusal with its reason', async () => {
    const { client, logged } = observed({
      check: () => {
        throw new DomainError('RATE_LIMITED', { retry_after_seconds: '41' })
      },
    })
    const error = await errorOf(client.check({}))
    expect(error?.code).toBe(Code.ResourceExhausted)
    expect(error?.metadata.get('retry-after')).toBe('41')
    expect(error?.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: 'RATE_LIMITED', domain: 'branchline' },
    ])
    expect(logged).toMatchObject([{ level: 'info', code: 'ResourceExhausted' }])
  })

  it('is hidden from the client if it is internal, and its cause is logged', async () => {
    const { client, logged } = observed({
      check: () => {
        throw new Error('disk /var/lib is full')
      },
    })
    const error = await errorOf(client.check({}))
    expect([error?.code, error?.rawMessage, error?.details]).toEqual([
      Code.Internal,
      'internal error',
      [],
    ])
    expect(logged).toMatchObject([
      { level: 'error', code: 'Internal', err: { message: 'disk /var/lib is full' } },
    ])
  })

  it('is counted and logged in the middle of a stream', async () => {
    const { client, logged, metrics } = observed({
      async *watch() {
        yield { status: Status.SERVING }
        throw new DomainError('PERMISSION_DENIED')
      },
    })
    const received: Status[] = []
    const reading = (async () => {
      for await (const { status } of client.watch({})) received.push(status)
    })()
    expect((await errorOf(reading))?.code).toBe(Code.PermissionDenied)
    expect(received).toEqual([Status.SERVING])
    expect(logged).toMatchObject([
      { method: 'grpc.health.v1.Health/Watch', code: 'PermissionDenied' },
    ])
    expect(await metrics.print()).toContain(
      'branchline_calls_total{method="grpc.health.v1.Health/Watch",code="PermissionDenied"} 1',
    )
  })
})

describe('a call that succeeds', () => {
  it('is counted once, when it ends', async () => {
    const { client, logged, metrics } = observed({
      check: () => ({ status: Status.SERVING }),
      async *watch() {
        yield { status: Status.SERVING }
        yield { status: Status.NOT_SERVING }
      },
    })
    await client.check({})
    // A database that cannot be reached has no size, and hides no other metric.
    expect(await metrics.print()).not.toMatch(/^branchline_database_bytes/m)
    for await (const _ of client.watch({})) expect(logged).toHaveLength(1)
    expect(logged.map(({ method, code }) => [method, code])).toEqual([
      ['grpc.health.v1.Health/Check', 'OK'],
      ['grpc.health.v1.Health/Watch', 'OK'],
    ])
    expect(await metrics.print()).toContain(
      'branchline_call_duration_seconds_count{method="grpc.health.v1.Health/Watch"} 1',
    )
  })
})
