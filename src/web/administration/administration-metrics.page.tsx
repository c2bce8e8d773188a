import type { VNode } from 'preact'
import { FailureNote } from '../components/failure-note.tsx'
import { Scrolling } from '../components/scrolling.tsx'
import { Administration } from './administration.tsx'
import { Chart } from './chart.tsx'
import { busiestMethods, chartsOf, type Measurement, useMeasurements } from './metric-history.ts'

/** Enough for the methods that matter. */
const MAX_METHODS = 10

/** Charts of what the server measures about itself. For administrators of the instance. */
export default function AdministrationMetricsPage(): VNode {
  return (
    <Administration title="Metrics" page="Metrics">
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
        The page measures every five seconds while it is open, and shows the last five minutes.
        Prometheus reads the same from <code>/metrics</code>.
      </p>
      {failure && <FailureNote failure={failure} />}
      {measurements.length < 2 ? (
        !failure && <p class="loading">Loading…</p>
      ) : (
        <section aria-labelledby="charts">
          <h2 id="charts">Now</h2>
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
      <h2 id="methods">Methods that have taken the most time since the start</h2>
      <Scrolling label="Table of methods">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">Method</th>
              <th scope="col">Calls</th>
              <th scope="col">Failed</th>
              <th scope="col">Mean time (ms)</th>
            </tr>
          </thead>
          <tbody>
            {busiestMethods(measurement, MAX_METHODS).map(({ method, calls, failed, meanMs }) => (
              <tr key={method}>
                <td>{method}</td>
                <td>{calls.toLocaleString()}</td>
                <td>{failed.toLocaleString()}</td>
                <td>{meanMs.toLocaleString(undefined, { maximumFractionDigits: 1 })}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </section>
  )
}
