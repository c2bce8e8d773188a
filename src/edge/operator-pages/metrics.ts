import type { DescMethod } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client'
import type { Metric } from '../../forge/core/core.ts'

/**
 * Bucket bounds in seconds. A read from SQLite takes less than a millisecond, a password hash tens
 * of milliseconds.
 */
const DURATION_BUCKETS_S = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Bucket bounds for Git, from a list of refs to the transfer of a large history. */
const GIT_DURATION_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]

/**
 * Calls of a method that are counted together. Counting one call alone takes prom-client a tenth of
 * the time of a small call, counting many in a row a hundredth.
 */
const BATCH = 100

/** Metrics for Prometheus. */
export interface Metrics {
  /** Counts one finished call. `code` is undefined for a success. */
  countCall(method: DescMethod, protocol: string, code: Code | undefined, durationMs: number): void
  /** Counts one finished Git request over HTTP, by service and HTTP status. */
  countGitRequest(service: string, status: number, durationMs: number): void
  /** Counts one finished Git session over SSH, by service and exit code. */
  countGitSession(service: string, exitCode: number, durationMs: number): void
  /** Counts what happened to SSH connections since the last call. */
  countSsh(figures: SshFigures): void
  /** Returns the text of /metrics. */
  print(): Promise<string>
  /** Returns the same metrics as values. */
  read(): Promise<readonly SharedMetric[]>
  readonly contentType: string
  /**
   * Lets go of what the metrics read. An observer of prom-client keeps them, and with them the whole
   * server, until the process ends.
   */
  stop(): void
}

/** SSH connections now, and what happened to them since the last figures. */
export interface SshFigures {
  readonly connections: number
  /** Connections that authenticated, and those that ended without. */
  readonly accepted: number
  readonly failed: number
  readonly bytesIn: number
  readonly bytesOut: number
}

/** A metric in the JSON of prom-client, which worker processes share. */
export interface SharedMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How the values of several processes are put together. */
  readonly aggregator?: string | undefined
  readonly values: readonly {
    /** The name of the value, where it is not that of the metric. */
    readonly metricName?: string
    readonly labels: Readonly<Record<string, string | number>>
    readonly value: number
  }[]
}

/** The metrics of all processes that serve one port. */
export interface MetricsOfAll {
  /** Names the function that reads the metrics of this process. */
  onRead(read: () => Promise<readonly SharedMetric[]>): void
  /** Returns the sum. Undefined when this process is alone. */
  sum(): Promise<readonly SharedMetric[] | undefined>
}

/** Calls of a method that prom-client has not counted yet. */
interface Tally {
  readonly name: string
  succeeded: number
  readonly durationsMs: number[]
}

/** Current figures of the listener. */
interface ListenerFigures {
  /** Open connections. */
  readonly connections: number
  /** Unread bytes of responses. */
  readonly waitingBytes: number
  /** Open streams of messages. */
  readonly streams: number
}

/** The figures before the server listens. */
const NOTHING: ListenerFigures = { connections: 0, waitingBytes: 0, streams: 0 }

/**
 * Metrics of prom-client that come from a timer, which would wake an idle process a hundred times a
 * second. `nodejs_eventloop_lag_seconds` is measured when somebody asks.
 */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']

/** A number from the database is read again after this time, since that takes a query. */
const COUNT_AGE_MS = 10_000

/** Sums over all repositories take longer. */
const BYTES_AGE_MS = 60_000

/** Longest interval of a timer of Node. */
const NEVER_MS = 2 ** 31 - 1

/** Adds the metrics of the process. */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  for (const figure of SAMPLED)
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`)
}

/** Metrics whose sum over processes would mean nothing. */
const AGGREGATORS: Readonly<Record<string, string>> = {
  branchline_code_index_age_seconds: 'max',
  branchline_code_index_due: 'max',
  branchline_database_bytes: 'max',
  branchline_maintenance_due: 'max',
  branchline_object_storage_away: 'max',
  branchline_repositories_bytes: 'max',
  nodejs_eventloop_lag_seconds: 'max',
  process_max_fds: 'min',
}

/** Returns the metrics of this process, with the way in which those of several are put together. */
async function readMetrics(registry: Registry): Promise<readonly SharedMetric[]> {
  // The types of prom-client leave out what only some metrics have.
  const metrics: readonly object[] = await registry.getMetricsAsJSON()
  return (metrics as readonly SharedMetric[]).map((metric) => ({
    ...metric,
    aggregator: AGGREGATORS[metric.name] ?? metric.aggregator,
  }))
}

/** Puts metrics of several processes together. */
export function sumMetrics(
  metrics: readonly (readonly SharedMetric[])[],
): Promise<readonly SharedMetric[]> {
  return readMetrics(registryOf(metrics))
}

function registryOf(metrics: readonly (readonly SharedMetric[])[]): Registry {
  // prom-client does not change the arrays.
  return AggregatorRegistry.aggregate(metrics as SharedMetric[][])
}

/** Adds the metrics of SSH, and returns the function that counts. */
function countSsh(registry: Registry): (figures: SshFigures) => void {
  const registers = [registry]
  const connections = new Gauge({
    name: 'branchline_ssh_connections',
    help: 'Open connections over SSH.',
    registers,
  })
  const handshakes = new Counter({
    name: 'branchline_ssh_handshakes_total',
    help: 'Connections over SSH that authenticated, or ended without, by result.',
    labelNames: ['result'],
    registers,
  })
  const bytes = new Counter({
    name: 'branchline_ssh_bytes_total',
    help: 'Bytes of SSH connections, by direction.',
    labelNames: ['direction'],
    registers,
  })
  return (figures) => {
    connections.set(figures.connections)
    if (figures.accepted > 0) handshakes.inc({ result: 'accepted' }, figures.accepted)
    if (figures.failed > 0) handshakes.inc({ result: 'failed' }, figures.failed)
    if (figures.bytesIn > 0) bytes.inc({ direction: 'in' }, figures.bytesIn)
    if (figures.bytesOut > 0) bytes.inc({ direction: 'out' }, figures.bytesOut)
  }
}

/** Adds the number of calls by protocol. Returns the calls that are not counted yet. */
function countProtocols(registry: Registry): Map<string, number> {
  const pending = new Map<string, number>()
  new Counter({
    name: 'branchline_protocol_calls_total',
    help: 'Finished calls, by protocol.',
    labelNames: ['protocol'],
    registers: [registry],
    collect() {
      for (const [protocol, count] of pending) this.inc({ protocol }, count)
      pending.clear()
    },
  })
  return pending
}

/** Adds a number from the database, which has no value while the database cannot be reached. */
function addCount(
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<number>,
): void {
  let readAtMs = Number.NEGATIVE_INFINITY
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      if (performance.now() - readAtMs < COUNT_AGE_MS) return
      readAtMs = performance.now()
      try {
        this.set(await read())
      } catch {
        this.remove()
      }
    },
  })
}

/** What the maintenance of repositories has done and has to do. */
interface MaintenanceFigures {
  readonly steps: readonly {
    readonly step: string
    readonly result: string
    readonly count: number
    readonly durationMs: number
  }[]
  /** Reads the number of repositories that wait for a step. */
  due(): Promise<number>
  /** Reads the bytes of all repositories by their kinds. */
  bytes(): Promise<Readonly<Record<string, number>>>
}

/** Adds the steps of maintenance that this process has run, and how many repositories wait. */
function addMaintenance(registry: Registry, figures: MaintenanceFigures): void {
  new Counter({
    name: 'branchline_maintenance_steps_total',
    help: 'Ended steps of the maintenance of repositories, by step and result.',
    labelNames: ['step', 'result'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { step, result, count } of figures.steps) this.inc({ step, result }, count)
    },
  })
  new Counter({
    name: 'branchline_maintenance_seconds_total',
    help: 'Time of the steps of the maintenance of repositories, by step.',
    labelNames: ['step'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { step, durationMs } of figures.steps) this.inc({ step }, durationMs / 1000)
    },
  })
  addCount(registry, 'branchline_maintenance_due', 'Repositories that wait for maintenance.', () =>
    figures.due(),
  )
  addBytes(registry, figures)
}

/** Adds the bytes of repositories, which have no values while the database cannot be reached. */
function addBytes(registry: Registry, figures: MaintenanceFigures): void {
  let readAtMs = Number.NEGATIVE_INFINITY
  new Gauge({
    name: 'branchline_repositories_bytes',
    help: 'Stored bytes of all repositories, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      if (performance.now() - readAtMs < BYTES_AGE_MS) return
      readAtMs = performance.now()
      this.reset()
      const bytes = await figures.bytes().catch(() => ({}))
      for (const [kind, value] of Object.entries<number>(bytes)) this.set({ kind }, value)
    },
  })
}

/** Reads what waits for the index of the code. */
type CodeIndexFigures = () => Promise<{ readonly count: number; readonly ageSeconds: number }>

/** Adds what waits for the index of the code. */
function addCodeIndex(registry: Registry, figures: CodeIndexFigures): void {
  addCount(
    registry,
    'branchline_code_index_due',
    'Repositories that wait for the index of the code.',
    async () => (await figures()).count,
  )
  addCount(
    registry,
    'branchline_code_index_age_seconds',
    'How long the first of these repositories has waited for its turn.',
    async () => (await figures()).ageSeconds,
  )
}

/** The requests to the object storage. */
interface ObjectStorageFigures {
  isAway(): boolean
  requests(): readonly {
    readonly method: string
    readonly outcome: string
    readonly number: number
  }[]
}

/** Adds the requests of this process to the object storage. */
function addObjectStorage(registry: Registry, figures: ObjectStorageFigures): void {
  new Counter({
    name: 'branchline_object_storage_requests_total',
    help: 'Requests to the object storage, each try counted, by method and outcome.',
    labelNames: ['method', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { method, outcome, number } of figures.requests())
        this.inc({ method, outcome }, number)
    },
  })
  new Gauge({
    name: 'branchline_object_storage_away',
    help: 'Whether the object storage does not answer.',
    registers: [registry],
    collect() {
      this.set(figures.isAway() ? 1 : 0)
    },
  })
}

/** Reads what the packs for several clients have been good for. */
type PackCacheFigures = () => {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}

/** Adds the clones that this process has answered, and the packs that it keeps. */
function addPackCache(registry: Registry, figures: PackCacheFigures): void {
  new Counter({
    name: 'branchline_pack_cache_clones_total',
    help: 'Clones, by whether the pack of another client answered them.',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset()
      const { hits, misses } = figures()
      this.inc({ result: 'hit' }, hits)
      this.inc({ result: 'miss' }, misses)
    },
  })
  new Gauge({
    name: 'branchline_pack_cache_bytes',
    help: 'Bytes of the packs that are kept for further clones.',
    registers: [registry],
    collect() {
      this.set(figures().bytes)
    },
  })
}

/** What parts of the server have done. */
interface WorkFigures {
  readonly codeIndex?: CodeIndexFigures | undefined
  readonly maintenance?: MaintenanceFigures | undefined
  readonly objectStorage?: ObjectStorageFigures | undefined
  readonly packCache?: PackCacheFigures | undefined
  readonly quotaRefusals?: QuotaFigures | undefined
}

/** Reads how often limits of owners have refused something. */
type QuotaFigures = () => readonly {
  readonly subject: string
  readonly scope: string
  readonly count: number
}[]

/** Adds the refusals of this process. */
function addQuotaRefusals(registry: Registry, figures: QuotaFigures): void {
  new Counter({
    name: 'branchline_quota_refusals_total',
    help: 'What limits of owners and repositories have refused, by subject and scope of the limit.',
    labelNames: ['subject', 'scope'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { subject, scope, count } of figures()) this.inc({ subject, scope }, count)
    },
  })
}

/**
 * Creates the metrics of a server.
 *
 * @param listener returns the figures of the listener; undefined before it exists.
 * @param databaseBytes reads the size of the database.
 * @param all set where several processes serve one port.
 * @param work what parts of the server have done.
 */
export function createMetrics(
  listener: () => ListenerFigures | undefined,
  databaseBytes: () => Promise<number>,
  all?: MetricsOfAll,
  work: WorkFigures = {},
): Metrics {
  const registry = new Registry()
  collectProcessMetrics(registry)
  const registers = [registry]
  const calls = new Counter({
    name: 'branchline_calls_total',
    help: 'Finished calls, by method and code; all protocols alike.',
    labelNames: ['method', 'code'],
    registers,
    collect: () => countPending(),
  })
  const callsByProtocol = countProtocols(registry)
  addCount(registry, 'branchline_database_bytes', 'Size of the database.', databaseBytes)
  if (work.maintenance) addMaintenance(registry, work.maintenance)
  if (work.codeIndex) addCodeIndex(registry, work.codeIndex)
  if (work.packCache) addPackCache(registry, work.packCache)
  if (work.quotaRefusals) addQuotaRefusals(registry, work.quotaRefusals)
  if (work.objectStorage) addObjectStorage(registry, work.objectStorage)
  const durations = new Histogram({
    name: 'branchline_call_duration_seconds',
    help: 'Time from the call to its answer, by method.',
    labelNames: ['method'],
    buckets: DURATION_BUCKETS_S,
    registers,
    collect: () => countPending(),
  })
  const git = countGit(registry)
  addListener(registry, listener)
  all?.onRead(() => readMetrics(registry))
  const tallies = new Map<DescMethod, Tally>()
  const tallyOf = (method: DescMethod) => {
    const known = tallies.get(method)
    if (known) return known
    const name = `${method.parent.typeName}/${method.name}`
    const tally: Tally = { name, succeeded: 0, durationsMs: [] }
    tallies.set(method, tally)
    return tally
  }
  const count = (tally: Tally) => {
    calls.inc({ method: tally.name, code: 'OK' }, tally.succeeded)
    const duration = durations.labels(tally.name)
    for (const durationMs of tally.durationsMs) duration.observe(durationMs / 1000)
    tally.succeeded = 0
    tally.durationsMs.length = 0
  }
  function countPending() {
    for (const tally of tallies.values()) count(tally)
  }
  return {
    countCall(method, protocol, code, durationMs) {
      callsByProtocol.set(protocol, (callsByProtocol.get(protocol) ?? 0) + 1)
      const tally = tallyOf(method)
      tally.durationsMs.push(durationMs)
      if (code === undefined) tally.succeeded++
      else calls.inc({ method: tally.name, code: Code[code] ?? 'Unknown' })
      if (tally.durationsMs.length >= BATCH) count(tally)
    },
    countGitSession: (service, status, durationMs) => git('ssh', service, status, durationMs),
    countSsh: countSsh(registry),
    countGitRequest: (service, status, durationMs) => git('http', service, status, durationMs),
    async print() {
      const sum = await all?.sum()
      return (sum ? registryOf([sum]) : registry).metrics()
    },
    read: async () => (await all?.sum()) ?? readMetrics(registry),
    contentType: registry.contentType,
    stop: () => registry.clear(),
  }
}

/** Adds the figures of Git. Returns what counts a request. */
function countGit(registry: Registry) {
  const registers = [registry]
  const gitRequests = new Counter({
    name: 'branchline_git_requests_total',
    help: 'Finished requests of Git, by transport, service and HTTP status or exit code.',
    labelNames: ['transport', 'service', 'status'],
    registers,
  })
  const gitDurations = new Histogram({
    name: 'branchline_git_request_duration_seconds',
    help: 'Time from a request of Git to the end of its answer, by service.',
    labelNames: ['service'],
    buckets: GIT_DURATION_BUCKETS_S,
    registers,
  })
  return (transport: string, service: string, status: number, durationMs: number) => {
    gitRequests.inc({ transport, service, status })
    gitDurations.observe({ service }, durationMs / 1000)
  }
}

/** Adds the figures of the listener. */
function addListener(registry: Registry, listener: () => ListenerFigures | undefined): void {
  const registers = [registry]
  const gauge = (name: string, help: string, value: (figures: ListenerFigures) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(listener() ?? NOTHING))
      },
    })
  gauge('branchline_connections', 'Open connections.', ({ connections }) => connections)
  gauge(
    'branchline_waiting_bytes',
    'Bytes of answers that wait for readers.',
    ({ waitingBytes }) => waitingBytes,
  )
  gauge('branchline_streams', 'Open streams of messages.', ({ streams }) => streams)
}

/** Returns a metric for administrators, without the buckets of histograms: they are most values. */
export function metricOf({ name, help, type, values }: SharedMetric): Metric {
  const samples = values.map(({ metricName, labels, value }) => ({
    name: metricName ?? name,
    labels: Object.fromEntries(Object.entries(labels).map(([key, text]) => [key, String(text)])),
    value,
  }))
  return { name, help, type, samples: samples.filter((sample) => !sample.name.endsWith('_bucket')) }
}
