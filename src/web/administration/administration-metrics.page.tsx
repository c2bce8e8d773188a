import type { VNode } from 'preact'
import { FailureNote } from '../components/load.tsx'
import { Scrolling } from '../components/page.tsx'
import { LOCALE, numberText, T, t } from '../language/texts.tsx'
import { Administration } from './administration.tsx'
import {
  busiestMethods,
  type ChartData,
  chartsOf,
  type Measurement,
  type Series,
  useMeasurements,
} from './metric-history.ts'

/** Enough for the methods that matter. */
const MAX_METHODS = 10

/** Charts of what the server measures about itself. For administrators of the instance. */
export function AdministrationMetricsPage(): VNode {
  return (
    <Administration title={t('Metrics')} page="/-/admin/metrics">
      <Charts />
    </Administration>
  )
}

function Charts(): VNode {
  const { measurements, failure } = useMeasurements()
  const latest = measurements.at(-1)
  return (
    <>
      <p>
        <T
          text="The page measures every five seconds while it is open, and shows the last five minutes. Prometheus reads the same from {path}."
          path={<code>/metrics</code>}
        />
      </p>
      {failure && <FailureNote failure={failure} />}
      {measurements.length < 2 ? (
        !failure && <p class="loading">{t('Loading…')}</p>
      ) : (
        <section aria-labelledby="charts">
          <h2 id="charts">{t('Now')}</h2>
          <div class="charts">
            {chartsOf(measurements).map((chart) => (
              <Chart
                key={chart.title}
                chart={chart}
                timesMs={measurements.slice(1).map(({ atMs }) => atMs)}
              />
            ))}
          </div>
        </section>
      )}
      {latest && <Methods measurement={latest} />}
    </>
  )
}

function Methods({ measurement }: { measurement: Measurement }): VNode {
  return (
    <section aria-labelledby="methods">
      <h2 id="methods">{t('Methods that have taken the most time since the start')}</h2>
      <Scrolling label={t('Table of methods')}>
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">{t('Method')}</th>
              <th scope="col">{t('Calls')}</th>
              <th scope="col">{t('Failed')}</th>
              <th scope="col">{t('Mean time (ms)')}</th>
            </tr>
          </thead>
          <tbody>
            {busiestMethods(measurement, MAX_METHODS).map(({ method, calls, failed, meanMs }) => (
              <tr key={method}>
                <td>{method}</td>
                <td>{numberText(calls)}</td>
                <td>{numberText(failed)}</td>
                <td>{numberText(meanMs, { maximumFractionDigits: 1 })}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </section>
  )
}

/** The size of a chart in its own units. The browser stretches the chart. */
const [WIDTH, HEIGHT] = [300, 80]

/** Curves of measurements. Their values are in a table too, for those who do not see the curves. */
function Chart(props: {
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
        <h3>{t('{title} ({unit})', { title, unit })}</h3>
        {series.map(({ name, values }, i) => (
          <span key={name} class="facts">
            <svg class="curve" viewBox="0 0 20 10" aria-hidden="true">
              <path class={`curve-${i}`} d="M0 5H20" />
            </svg>{' '}
            {t('{name}: {value}', { name, value: valueText(values.at(-1)) })}
          </span>
        ))}
      </figcaption>
      <svg
        class="curves"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t('Curves: {title}, from 0 to {top}', { title, top: valueText(top) })}
      >
        {series.map((one, i) => (
          <path key={one.name} class={`curve-${i}`} d={pathOf(one, top)} />
        ))}
      </svg>
      <details>
        <summary>{t('Values: {title}', { title })}</summary>
        <Values chart={chart} timesMs={timesMs} />
      </details>
    </figure>
  )
}

function Values({ chart, timesMs }: { chart: ChartData; timesMs: readonly number[] }): VNode {
  const { title, unit, series } = chart
  return (
    <Scrolling label={t('Table: {title}', { title })}>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">{t('Time')}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {t('{title} ({unit})', { title: name, unit })}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {timesMs
            .map((atMs, i) => (
              <tr key={atMs}>
                <td>{new Date(atMs).toLocaleTimeString(LOCALE)}</td>
                {series.map(({ name, values }) => (
                  <td key={name}>{valueText(values[i])}</td>
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

function valueText(value: number | undefined): string {
  return value === undefined ? t('none @value') : numberText(value, { maximumSignificantDigits: 3 })
}
