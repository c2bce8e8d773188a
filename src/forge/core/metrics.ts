/** A value of a metric. */
export interface MetricSample {
  /** The name of the metric, which a histogram completes by `_sum` or `_count`. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Metrics of the server, as Prometheus defines metrics. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: string
  /** Without the buckets of histograms. */
  readonly samples: readonly MetricSample[]
}

/** Where the metrics of the server are read. Before the server listens, there are none. */
export class MetricsSource {
  #read: () => Promise<readonly Metric[]> = async () => []

  /** Names the function that reads the metrics. */
  onRead(read: () => Promise<readonly Metric[]>): void {
    this.#read = read
  }

  /**
   * Returns metrics.
   *
   * @param names of the metrics; none for all.
   */
  async read(names: readonly string[]): Promise<readonly Metric[]> {
    const wanted = new Set(names)
    const metrics = await this.#read()
    return wanted.size === 0 ? metrics : metrics.filter(({ name }) => wanted.has(name))
  }
}
