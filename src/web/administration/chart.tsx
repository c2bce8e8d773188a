import type { VNode } from 'preact'
import { Scrolling } from '../components/scrolling.tsx'
import type { ChartData, Series } from './metric-history.ts'

/** The size of a chart in its own units. The browser stretches the chart. */
const [WIDTH, HEIGHT] = [300, 80]

/** Curves of measurements. Their values are in a table too, for those who do not see the curves. */
export function Chart(props: {
  chart: ChartData
  /** The times of the values, in Unix milliseconds. */
  timesMs: readonly number[]
}): VNode {
  const { chart, timesMs } = props
  const { title, unit, series } = chart
  const top = Math.max(...series.flatMap(({ values }) => values.map((value = 0) => value)), 0) || 1
  return (
    <figure class="chart">
      <figcaption>
        <h3>
          {title} ({unit})
        </h3>
        {series.map(({ name, values }, i) => (
          <span key={name} class="facts">
            <svg class="curve" viewBox="0 0 20 10" aria-hidden="true">
              <path class={`curve-${i}`} d="M0 5H20" />
            </svg>{' '}
            {name}: {numberText(values.at(-1))}
          </span>
        ))}
      </figcaption>
      <svg
        class="curves"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Curves: ${title}, from 0 to ${numberText(top)}`}
      >
        {series.map((one, i) => (
          <path key={one.name} class={`curve-${i}`} d={pathOf(one, top)} />
        ))}
      </svg>
      <details>
        <summary>Values: {title}</summary>
        <Values chart={chart} timesMs={timesMs} />
      </details>
    </figure>
  )
}

function Values({ chart, timesMs }: { chart: ChartData; timesMs: readonly number[] }): VNode {
  const { title, unit, series } = chart
  return (
    <Scrolling label={`Table: ${title}`}>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name} ({unit})
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {timesMs
            .map((atMs, i) => (
              <tr key={atMs}>
                <td>{new Date(atMs).toLocaleTimeString()}</td>
                {series.map(({ name, values }) => (
                  <td key={name}>{numberText(values[i])}</td>
                ))}
              </tr>
            ))
            .toReversed()}
        </tbody>
      </table>
    </Scrolling>
  )
}

/** Returns the curve of a series. A value that is missing interrupts the curve. */
function pathOf({ values }: Series, top: number): string {
  const step = WIDTH / Math.max(values.length - 1, 1)
  return values
    .map((value, i) => {
      if (value === undefined) return ''
      const isStart = values[i - 1] === undefined
      // Half a stroke stays inside at both ends.
      const y = HEIGHT - 1 - (value / top) * (HEIGHT - 2)
      // A single value is a point, which only a line of no length with round ends shows.
      return `${isStart ? 'M' : 'L'}${(i * step).toFixed(1)} ${y.toFixed(1)}${isStart ? 'h0' : ''}`
    })
    .join('')
}

function numberText(value: number | undefined): string {
  return value === undefined
    ? 'none'
    : value.toLocaleString(undefined, { maximumSignificantDigits: 3 })
}
