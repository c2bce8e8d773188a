import type { DescMethod } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Bucket bounds in seconds: a read from SQLite is under a millisecond, a password hash tens of them. */
const DURATION_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Figures for Prometheus. */
export interface Metrics {
  /** Counts one finished call; `code` is undefined when it succeeded. */
  countCall(method: DescMethod, code: Code | undefined, durationMs: number): void
  /** The text of /metrics. */
  print(): Promise<string>
  readonly contentType: string
}

/**
 * @param connections how many connections are open.
 */
export function createMetrics(connections: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const calls = new Counter({
    name: 'branchline_calls_total',
    help: 'Finished calls, by method and code; all protocols alike.',
    labelNames: ['method', 'code'],
    registers,
  })
  const durations = new Histogram({
    name: 'branchline_call_duration_seconds',
    help: 'Time from the call to its answer, by method.',
    labelNames: ['method'],
    buckets: DURATION_BUCKETS_S,
    registers,
  })
  new Gauge({
    name: 'branchline_connections',
    help: 'Open connections.',
    registers,
    collect() {
      this.set(connections())
    },
  })
  // Finding a child by its labels costs more than counting does.
  const children = new Map<DescMethod, { ok: Counter.Internal; duration: Histogram.Internal<'method'> }>()
  return {
    countCall(method, code, durationMs) {
      const name = `${method.parent.typeName}/${method.name}`
      let child = children.get(method)
      if (!child) {
        child = { ok: calls.labels(name, 'OK'), duration: durations.labels(name) }
        children.set(method, child)
      }
      child.duration.observe(durationMs / 1000)
      if (code === undefined) child.ok.inc()
      else calls.labels(name, Code[code] ?? 'Unknown').inc()
    },
    print: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
