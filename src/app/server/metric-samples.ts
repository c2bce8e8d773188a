import type { SharedMetric } from '../../edge/operator-pages/metrics.ts'
import type { Metric } from '../../forge/core/metrics.ts'

/** Returns a metric for administrators, without the buckets of histograms: they are most values. */
export function metricOf({ name, help, type, values }: SharedMetric): Metric {
  const samples = values.map(({ metricName, labels, value }) => ({
    name: metricName ?? name,
    labels: Object.fromEntries(Object.entries(labels).map(([key, text]) => [key, String(text)])),
    value,
  }))
  return { name, help, type, samples: samples.filter((sample) => !sample.name.endsWith('_bucket')) }
}
