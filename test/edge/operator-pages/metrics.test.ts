import { Code } from '@connectrpc/connect'
import { expect, it } from 'vitest'
import { Health } from '#gen/health/v1/health_pb.ts'
import {
  createMetrics,
  metricOf,
  type SharedMetric,
  sumMetrics,
} from '../../../src/edge/operator-pages/metrics.ts'

const noListener = () => undefined
const databaseBytes = async () => 4096

/** The metrics of two processes alike, as one of them has them from the other over a channel. */
function ofTwo() {
  let read: () => Promise<readonly SharedMetric[]> = async () => []
  const metrics = createMetrics(noListener, databaseBytes, {
    onRead: (own) => {
      read = own
    },
    sum: async () => JSON.parse(JSON.stringify(await sumMetrics([await read(), await read()]))),
  })
  return metrics
}

const callOnce = (metrics: ReturnType<typeof createMetrics>) => {
  metrics.countCall(Health.method.check, 'grpc', undefined, 250)
  metrics.countCall(Health.method.check, 'connect', Code.NotFound, 1000)
  metrics.countGitRequest('git-upload-pack', 200, 20)
  return metrics
}

/** The lines about the server, which do not depend on the time. */
const linesOf = (text: string) => text.split('\n').filter((line) => line.includes('branchline_'))

it('of several processes are printed in the form of one', async () => {
  const one = linesOf(await callOnce(callOnce(createMetrics(noListener, databaseBytes))).print())
  expect(one).toContain('branchline_calls_total{method="grpc.health.v1.Health/Check",code="OK"} 2')
  expect(one).toContain('branchline_database_bytes 4096')
  expect(linesOf(await callOnce(ofTwo()).print())).toEqual(one)
})

it.each([
  ['one process', () => callOnce(callOnce(createMetrics(noListener, databaseBytes)))],
  ['several processes', () => callOnce(ofTwo())],
])('of %s are read without the buckets of histograms', async (_, make) => {
  const metrics = (await make().read()).map(metricOf)
  const find = (name: string) => metrics.find((metric) => metric.name === name)
  const name = 'branchline_git_request_duration_seconds'
  expect(find(name)).toEqual({
    name,
    help: 'Time from a request of Git to the end of its answer, by service.',
    type: 'histogram',
    samples: [
      { name: `${name}_sum`, labels: { service: 'git-upload-pack' }, value: 0.04 },
      { name: `${name}_count`, labels: { service: 'git-upload-pack' }, value: 2 },
    ],
  })
  expect(find('branchline_git_requests_total')?.samples).toEqual([
    {
      name: 'branchline_git_requests_total',
      labels: { transport: 'http', service: 'git-upload-pack', status: '200' },
      value: 2,
    },
  ])
})
