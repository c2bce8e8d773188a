import { useEffect, useState } from 'preact/hooks'
import {
  type AdminGetMetricsResponse,
  AdminService,
  type MetricSample,
} from '#gen/branchline/v1/admin_service_pb.ts'
import { useApi } from '../api/client.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { timestampMs } from '../api/timestamps.ts'
import { t } from '../language/texts.tsx'

/** Time between two measurements. */
const INTERVAL_MS = 5_000

/** Five minutes of measurements, with the first one, which rates begin at. */
const MAX_MEASUREMENTS = 61

const CALLS = 'branchline_calls_total'
const DURATIONS = 'branchline_call_duration_seconds'
const GIT = 'branchline_git_requests_total'
const PROTOCOLS = 'branchline_protocol_calls_total'
const GAUGES = [
  'branchline_database_bytes',
  'branchline_connections',
  'branchline_streams',
  'branchline_waiting_bytes',
  'process_resident_memory_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_eventloop_lag_seconds',
  'process_cpu_seconds_total',
] as const

/** Metrics of one moment. */
export interface Measurement {
  readonly atMs: number
  readonly samples: readonly MetricSample[]
}

/** The measurements since the page was opened, oldest first, and why the last try failed. */
export function useMeasurements(): {
  readonly measurements: readonly Measurement[]
  readonly failure: Failure | undefined
} {
  const { of } = useApi()
  const [measurements, setMeasurements] = useState<readonly Measurement[]>([])
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    let timer: ReturnType<typeof setTimeout> | undefined
    const measure = async () => {
      try {
        const names = [CALLS, DURATIONS, GIT, PROTOCOLS, ...GAUGES]
        const next = read(await of(AdminService).adminGetMetrics({ names }, { signal }))
        setMeasurements((before) => [...before, next].slice(-MAX_MEASUREMENTS))
        setFailure(undefined)
      } catch (error) {
        if (!signal.aborted) setFailure(failureOf(error))
      }
      if (!signal.aborted) timer = setTimeout(measure, INTERVAL_MS)
    }
    void measure()
    return () => {
      ended.abort()
      clearTimeout(timer)
    }
  }, [])
  return { measurements, failure }
}

function read({ readAt, metrics }: AdminGetMetricsResponse): Measurement {
  return {
    atMs: readAt ? timestampMs(readAt) : 0,
    samples: metrics.flatMap(({ samples }) => samples),
  }
}

/** A curve of a chart. A value is undefined where the server has not measured. */
export interface Series {
  readonly name: string
  readonly values: readonly (number | undefined)[]
}

/** A chart of the measurements, without the first one, for which no rate is known. */
export interface ChartData {
  readonly title: string
  readonly unit: string
  readonly series: readonly Series[]
}

/** The protocols of calls, by their names in the metrics. */
const PROTOCOL_NAMES = [
  ['grpc', 'gRPC'],
  ['grpc-web', 'gRPC-Web'],
  ['connect', 'Connect'],
  ['rest', 'REST'],
] as const

/** Codes of calls that are no failures: a client that leaves ends its call, for example a stream. */
const SUCCESSES: ReadonlySet<string | undefined> = new Set(['OK', 'Canceled'])

type Which = (sample: MetricSample) => boolean

/** Returns what the measurements say, as charts. */
export function chartsOf(all: readonly Measurement[]): readonly ChartData[] {
  const isFailed: Which = ({ labels }) => !SUCCESSES.has(labels.code)
  const isFailedGit: Which = ({ labels }) => Number(labels.status) >= 400
  const service =
    (name: string): Which =>
    ({ labels }) =>
      labels.service === name
  const rate = (name: string, which?: Which) => ratesOf(all, (one) => sumOf(one, name, which))
  const level = (name: (typeof GAUGES)[number], factor = 1) =>
    all.slice(1).map((one) => sumOf(one, name) * factor)
  const seconds = rate(`${DURATIONS}_sum`)
  const finished = rate(`${DURATIONS}_count`)
  return [
    {
      title: t('Calls'),
      unit: t('per second'),
      series: [
        { name: t('all @calls'), values: rate(CALLS) },
        { name: t('failed @calls'), values: rate(CALLS, isFailed) },
      ],
    },
    {
      title: t('Calls by protocol'),
      unit: t('per second'),
      series: PROTOCOL_NAMES.map(([label, name]) => ({
        name,
        values: rate(PROTOCOLS, ({ labels }) => labels.protocol === label),
      })),
    },
    {
      title: t('Mean time of a call'),
      unit: t('ms'),
      series: [
        { name: t('time @curve'), values: finished.map((count, i) => meanMs(seconds[i], count)) },
      ],
    },
    {
      title: t('Git requests'),
      unit: t('per second'),
      series: [
        { name: t('fetches'), values: rate(GIT, service('git-upload-pack')) },
        { name: t('pushes'), values: rate(GIT, service('git-receive-pack')) },
        { name: t('failed @calls'), values: rate(GIT, isFailedGit) },
      ],
    },
    {
      title: t('Memory'),
      unit: t('MiB'),
      series: [
        { name: t('process'), values: level('process_resident_memory_bytes', 2 ** -20) },
        { name: 'JavaScript', values: level('nodejs_heap_size_used_bytes', 2 ** -20) },
      ],
    },
    {
      title: t('Database'),
      unit: t('MiB'),
      series: [{ name: t('size @curve'), values: level('branchline_database_bytes', 2 ** -20) }],
    },
    {
      title: t('Processor'),
      unit: t('% of one core'),
      series: [
        {
          name: t('used'),
          values: rate('process_cpu_seconds_total').map((used) => used && used * 100),
        },
      ],
    },
    {
      title: t('Delay of the event loop'),
      unit: t('ms'),
      series: [{ name: t('delay'), values: level('nodejs_eventloop_lag_seconds', 1000) }],
    },
    {
      title: t('Connections'),
      unit: t('open @connections'),
      series: [
        { name: t('connections'), values: level('branchline_connections') },
        { name: t('streams'), values: level('branchline_streams') },
      ],
    },
    {
      title: t('Answers that wait for readers'),
      unit: t('KiB'),
      series: [{ name: t('waiting'), values: level('branchline_waiting_bytes', 2 ** -10) }],
    },
  ]
}

/** Totals of a method since the start of the server. */
interface MethodLoad {
  readonly method: string
  readonly calls: number
  readonly failed: number
  readonly meanMs: number
}

/** Returns the methods that have taken the most time, longest first. */
export function busiestMethods({ samples }: Measurement, count: number): readonly MethodLoad[] {
  const loads = new Map<string, { calls: number; failed: number; seconds: number }>()
  for (const { name, labels, value } of samples) {
    const { method, code } = labels
    if (method === undefined) continue
    const load = loads.get(method) ?? { calls: 0, failed: 0, seconds: 0 }
    loads.set(method, load)
    if (name === CALLS) load.calls += value
    if (name === CALLS && !SUCCESSES.has(code)) load.failed += value
    if (name === `${DURATIONS}_sum`) load.seconds += value
  }
  return [...loads]
    .toSorted(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, count)
    .map(([method, { calls, failed, seconds }]) => ({
      method: method.slice(method.lastIndexOf('.') + 1),
      calls,
      failed,
      meanMs: meanMs(seconds, calls) ?? 0,
    }))
}

function sumOf({ samples }: Measurement, name: string, which: Which = () => true): number {
  return samples
    .filter((sample) => sample.name === name && which(sample))
    .reduce((sum, { value }) => sum + value, 0)
}

/** Returns the growth of a counter per second, between each measurement and the one before it. */
function ratesOf(
  all: readonly Measurement[],
  counter: (one: Measurement) => number,
): (number | undefined)[] {
  return all.slice(1).map((one, i) => {
    const before = all[i]
    if (before === undefined) return undefined
    const growth = counter(one) - counter(before)
    // A server that was started again counts from 0.
    return growth < 0 ? undefined : (growth * 1000) / Math.max(one.atMs - before.atMs, 1)
  })
}

function meanMs(seconds: number | undefined, count: number | undefined): number | undefined {
  return seconds === undefined || !count ? undefined : (seconds * 1000) / count
}
