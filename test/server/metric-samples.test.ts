import { expect, it } from 'vitest'
import { readMetricsText } from '../../src/server/metric-samples.ts'

it('reads counters, gauges and histograms without their buckets', () => {
  const text = `# HELP calls_total Calls, by "method".
# TYPE calls_total counter
calls_total{method="a.B/C",code="OK"} 3
calls_total{method="with \\"quotes\\", a \\\\ and {braces}",code="Not\\nFound"} 1e+21

# HELP wait_seconds Time\\nto wait.
# TYPE wait_seconds histogram
wait_seconds_bucket{le="0.5"} 1
wait_seconds_bucket{le="+Inf"} 2
wait_seconds_sum 1.25
wait_seconds_count 2
# HELP level A level.
# TYPE level gauge
level -Inf
`
  expect(readMetricsText(text)).toEqual([
    {
      name: 'calls_total',
      help: 'Calls, by "method".',
      type: 'counter',
      samples: [
        { name: 'calls_total', labels: { method: 'a.B/C', code: 'OK' }, value: 3 },
        {
          name: 'calls_total',
          labels: { method: 'with "quotes", a \\ and {braces}', code: 'Not\nFound' },
          value: 1e21,
        },
      ],
    },
    {
      name: 'wait_seconds',
      help: 'Time\nto wait.',
      type: 'histogram',
      samples: [
        { name: 'wait_seconds_sum', labels: {}, value: 1.25 },
        { name: 'wait_seconds_count', labels: {}, value: 2 },
      ],
    },
    {
      name: 'level',
      help: 'A level.',
      type: 'gauge',
      samples: [{ name: 'level', labels: {}, value: Number.NEGATIVE_INFINITY }],
    },
  ])
})
