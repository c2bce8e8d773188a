import type { Metric, MetricSample } from '../domain/core/metrics.ts'

const HELP = /^# HELP (\S+) (.*)$/
const TYPE = /^# TYPE (\S+) (\S+)$/
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/**
 * Reads the text of /metrics, which worker processes share as text. Buckets of histograms are left
 * out: they are most of the text.
 *
 * See https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function readMetricsText(text: string): readonly Metric[] {
  const metrics: (Metric & { type: string; readonly samples: MetricSample[] })[] = []
  for (const line of text.split('\n')) {
    const [, name, help = ''] = HELP.exec(line) ?? []
    if (name !== undefined) metrics.push({ name, help: unescaped(help), type: '', samples: [] })
    const latest = metrics.at(-1)
    if (latest === undefined) continue
    const type = TYPE.exec(line)?.[2]
    if (type !== undefined) latest.type = type
    const sample = line.startsWith('#') ? undefined : readSample(line)
    if (sample && !sample.name.endsWith('_bucket')) latest.samples.push(sample)
  }
  return metrics
}

function readSample(line: string): MetricSample | undefined {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined || value === undefined) return undefined
  const pairs = [...labels.matchAll(LABEL)].map(
    ([, label = '', text = '']) => [label, unescaped(text)] as const,
  )
  return { name, labels: Object.fromEntries(pairs), value: readValue(value) }
}

function readValue(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'))
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
}
