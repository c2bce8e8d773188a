import type { JsonValue } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { counted } from '../components/counts.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Scrolling } from '../components/scrolling.tsx'
import type { Outcome } from './sending.ts'

/** Longer answers are cut, since a browser lays them out slowly. */
const MAX_SHOWN_CHARACTERS = 200_000

const STATES: Readonly<Record<Outcome['state'], string>> = {
  running: 'The call is running.',
  done: 'The call has succeeded.',
  failed: 'The call has failed.',
  stopped: 'You have stopped the call.',
}

/** The state of a call. */
export function OutcomeView({ outcome, isStream }: { outcome: Outcome; isStream: boolean }): VNode {
  const { state, durationMs, headers, trailers, messages, count, refusal } = outcome
  return (
    <>
      {/* Screen readers are told about the state, but not about each message of a stream. */}
      <p role="status">
        {STATES[state]} {state !== 'running' && <>It took {milliseconds(durationMs)}.</>}
      </p>
      {isStream && (
        <p class="facts">
          {counted(count, 'message')}
          {count > messages.length && `, of which the last ${messages.length} are shown`}
        </p>
      )}
      {refusal && (
        <>
          <FailureNote failure={refusal.failure} />
          <p>
            Code: <code>{refusal.code}</code>
          </p>
          <Json label="Details of the error" value={refusal.details} />
        </>
      )}
      {messages.map((message, i) => {
        const number = count - messages.length + i + 1
        const label = isStream ? `Message ${number}` : 'Response'
        return <Json key={number} label={label} value={message} />
      })}
      <Headers title="Headers of the response" headers={headers} />
      <Headers title="Trailers of the response" headers={trailers} />
    </>
  )
}

function Json({ label, value }: { label: string; value: JsonValue | readonly JsonValue[] }): VNode {
  const text = JSON.stringify(value, undefined, 2)
  return (
    <>
      <h3>{label}</h3>
      {text.length > MAX_SHOWN_CHARACTERS && <p class="note">Only the beginning is shown.</p>}
      <Scrolling className="source" label={label}>
        <pre>{text.slice(0, MAX_SHOWN_CHARACTERS)}</pre>
      </Scrolling>
    </>
  )
}

function Headers({ title, headers }: { title: string; headers: Outcome['headers'] }): VNode | null {
  if (headers.length === 0) return null
  return (
    <details>
      <summary>{title}</summary>
      <dl>
        {headers.map(([name, value]) => [
          <dt key={`${name} name`}>{name}</dt>,
          <dd key={name}>{value}</dd>,
        ])}
      </dl>
    </details>
  )
}

function milliseconds(duration: number): string {
  const options = { style: 'unit', unit: 'millisecond', maximumFractionDigits: 0 } as const
  return new Intl.NumberFormat(undefined, options).format(duration)
}
