import { AggregatorRegistry } from 'prom-client'
import type { Metrics } from './worker-messages.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Time for a worker process to answer. Its earlier metrics count when it does not. */
const MAX_WAIT_MS = 2_000

/**
 * Sums the metrics of worker processes.
 *
 * What an ended process had counted when its metrics were last read stays in the sum. Prometheus
 * would take a smaller sum for a restart, and count everything again
 * (https://prometheus.io/docs/prometheus/latest/querying/functions/#rate).
 */
export class MetricsSum {
  #ofEnded: Metrics = []

  /** Returns the sum in the text format of Prometheus. */
  async print(workers: Iterable<WorkerProcess>): Promise<string> {
    const all = [...workers]
    await Promise.all(all.map((worker) => worker.readMetrics(MAX_WAIT_MS)))
    return sum([this.#ofEnded, ...all.map(({ metrics }) => metrics)]).metrics()
  }

  /** Keeps the counters of a process that has ended. */
  async keep({ metrics }: WorkerProcess): Promise<void> {
    const counted = metrics.filter(isCounted)
    this.#ofEnded = await sum([this.#ofEnded, counted]).getMetricsAsJSON()
  }
}

/** Returns whether a metric only grows, as opposed to a gauge. */
function isCounted(metric: object): boolean {
  return 'type' in metric && (metric.type === 'counter' || metric.type === 'histogram')
}

function sum(metrics: readonly Metrics[]) {
  // prom-client does not change the array.
  return AggregatorRegistry.aggregate(metrics as Metrics[])
}
