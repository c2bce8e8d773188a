import { sumMetrics } from '../../edge/operator-pages/metrics.ts'
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

  /** Returns the sum. */
  async read(workers: Iterable<WorkerProcess>): Promise<Metrics> {
    const all = [...workers]
    await Promise.all(all.map((worker) => worker.readMetrics(MAX_WAIT_MS)))
    const metrics = await sumMetrics([...this.#ofEnded, ...all.map((worker) => worker.metrics)])
    await this.#sumEnded()
    return metrics
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
    const summed = await sumMetrics(ended)
    // Otherwise another process has ended meanwhile, or another call has summed.
    if (this.#ofEnded === ended) this.#ofEnded = [summed]
  }
}

/** Returns whether a metric only grows, as opposed to a gauge. */
function isCounted({ type }: Metrics[number]): boolean {
  return type === 'counter' || type === 'histogram'
}
