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
  #ofEnded: readonly Metrics[] = []

  /** Returns the sum in the text format of Prometheus. */
  async print(workers: Iterable<WorkerProcess>): Promise<string> {
    const all = [...workers]
    await Promise.all(all.map((worker) => worker.readMetrics(MAX_WAIT_MS)))
    const text = await sum([...this.#ofEnded, ...all.map(({ metrics }) => metrics)]).metrics()
    await this.#sumEnded()
    return text
  }

  /** Keeps the counters of a process that has ended. */
  keep({ metrics }: WorkerProcess): void {
    const counted = metrics.filter(isCounted)
    if (counted.length > 0) this.#ofEnded = [...this.#ofEnded, counted]
  }

  /** Keeps one sum instead of the counters of each process. */
  async #sumEnded(): Promise<void> {
    const ended = this.#ofEnded
    if (ended.length < 2) return
    const summed = await sum(ended).getMetricsAsJSON()
    // Otherwise another process has ended meanwhile, or another call has summed.
    if (this.#ofEnded === ended) this.#ofEnded = [summed]
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
