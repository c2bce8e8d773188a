import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Code, ConnectError, nameOfCode, type Transport } from '../api/calls.ts'
import { useApi } from '../api/client.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { Command } from '../components/command.tsx'
import { onSubmit } from '../components/forms.tsx'
import { FailureNote } from '../components/load.tsx'
import { Scrolling, SignInLink } from '../components/page.tsx'
import { numberText, plural, T, t } from '../language/texts.tsx'
import { type DraftFields, fieldsOfJson, isObject, isRequired, jsonOfFields } from './draft.ts'
import { DraftForm, NeedContext } from './draft-form.tsx'
import { fieldsInPaths, obstacleTo } from './method-facts.ts'
import {
  EXAMPLE_LANGUAGES,
  type ExampleLanguage,
  exampleOf,
  exampleText,
} from './request-examples.ts'

/** A request that somebody writes: by the fields of a form, or as JSON. */
type Written =
  | { readonly mode: 'form'; readonly fields: DraftFields }
  | { readonly mode: 'json'; readonly text: string }

/** The form that calls a method, what came back, and the same call in other languages. */
export function RequestForm({
  method,
  registry,
}: {
  method: DescMethod
  registry: Registry
}): VNode {
  const { transport } = useApi()
  const [written, setWritten] = useState<Written>({ mode: 'form', fields: {} })
  const [mistake, setMistake] = useState('')
  const inPaths = fieldsInPaths(method)
  const needs = (field: DescField) =>
    isRequired(field) || (field.parent === method.input && inPaths.has(field.name))
  const call = useCall(transport, registry, method)
  /** Says what is wrong with the request instead of using it. */
  const use = (act: (message: Message, json: JsonValue) => void) => {
    const read = readRequest(method.input, written, registry)
    setMistake(read.mistake)
    if (read.message) act(read.message, toJson(method.input, read.message, { registry }))
  }
  const changeMode = () =>
    use((_, json) =>
      setWritten(
        written.mode === 'form'
          ? { mode: 'json', text: JSON.stringify(json, undefined, 2) }
          : { mode: 'form', fields: fieldsOfJson(method.input, json) },
      ),
    )
  return (
    <>
      <section aria-labelledby="request">
        <h2 id="request">{t('Request')}</h2>
        <form onSubmit={onSubmit(() => use(call.send))}>
          <button type="button" onClick={changeMode}>
            {written.mode === 'form'
              ? t('Write the request as JSON')
              : t('Write the request as a form')}
          </button>
          <NeedContext.Provider value={needs}>
            <Editor type={method.input} written={written} onChange={setWritten} />
          </NeedContext.Provider>
          {mistake !== '' && (
            <p class="note problem" role="alert">
              {t('The request is not valid: {mistake}', { mistake })}
            </p>
          )}
          <Buttons method={method} call={call} />
        </form>
      </section>
      {call.outcome && (
        <section aria-labelledby="outcome">
          <h2 id="outcome">{t('Outcome')}</h2>
          <OutcomeView outcome={call.outcome} isStream={method.methodKind !== 'unary'} />
        </section>
      )}
      <Examples method={method} json={exampleJson(method.input, written, registry)} />
    </>
  )
}

/** The request, in the form that somebody has chosen. */
function Editor(props: {
  type: DescMessage
  written: Written
  onChange: (written: Written) => void
}): VNode {
  const { type, written, onChange } = props
  if (written.mode === 'form')
    return (
      <>
        <p class="hint">{t('Empty fields are omitted; use JSON to send empty strings.')}</p>
        <DraftForm
          message={type}
          fields={written.fields}
          onChange={(fields) => onChange({ mode: 'form', fields })}
        />
      </>
    )
  return (
    <label>
      {t('Request as JSON')}
      <textarea
        rows={12}
        spellcheck={false}
        value={written.text}
        onInput={(event) => onChange({ mode: 'json', text: event.currentTarget.value })}
      />
    </label>
  )
}

/** The buttons of a call that the page can make, or why the page cannot. */
function Buttons({ method, call }: { method: DescMethod; call: Call }): VNode {
  const obstacle = obstacleTo(method, useApi().session.user)
  const isRunning = call.outcome?.state === 'running'
  if (obstacle)
    return (
      <p class="note">
        {obstacle.text} {obstacle.isSignedOut && <SignInLink />}
      </p>
    )
  return (
    <p class="row">
      <button type="submit" class="main" disabled={isRunning}>
        {t('Send {method}', { method: method.name })}
      </button>
      {isRunning && (
        <button type="button" onClick={call.stop}>
          {t('Stop')}
        </button>
      )}
    </p>
  )
}

/** The call in other languages, with what is in the form now. */
function Examples({ method, json }: { method: DescMethod; json: JsonObject }): VNode | null {
  const isSignedIn = useApi().session.user !== undefined
  const example = exampleOf(method, json, { origin: location.origin, isSignedIn })
  const texts = Object.entries(EXAMPLE_LANGUAGES).flatMap(([language, name]) => {
    const text = exampleText(language as ExampleLanguage, example)
    return text === undefined ? [] : [{ name, text }]
  })
  const [chosen, setChosen] = useState('')
  const shown = texts.find(({ name }) => name === chosen) ?? texts[0]
  if (!shown) return null
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">{t('The call in other programs')}</h2>
      <label>
        {t('Language')}
        <select value={shown.name} onChange={(event) => setChosen(event.currentTarget.value)}>
          {texts.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Command label={t('The call as {language}', { language: shown.name })} text={shown.text} />
      <p class="hint">
        {example.credentials === 'token' &&
          `${t('Put a personal access token into the variable TOKEN.')} `}
        {example.credentials === 'password' &&
          `${t('Put the name of the account into the variable USERNAME, and its password into PASSWORD where the text names it.')} `}
        {shown.text.includes('SECRET') && t('Replace SECRET by the secret of the form.')}
      </p>
    </section>
  )
}

/** Returns the message that somebody has written, or what is wrong with it. */
function readRequest(
  type: DescMessage,
  written: Written,
  registry: Registry,
): { readonly message?: Message; readonly mistake: string } {
  try {
    const json = written.mode === 'form' ? jsonOfFields(type, written.fields) : parsed(written.text)
    return { message: fromJson(type, json, { registry }), mistake: '' }
  } catch (error) {
    return { mistake: error instanceof Error ? error.message : String(error) }
  }
}

function parsed(text: string): JsonValue {
  return text.trim() === '' ? {} : (JSON.parse(text) as JsonValue)
}

/** Returns the JSON for the examples. A request that is not valid yet gives an empty one. */
function exampleJson(type: DescMessage, written: Written, registry: Registry): JsonObject {
  const { message } = readRequest(type, written, registry)
  const json = message && toJson(type, message, { registry })
  return isObject(json) ? json : {}
}

/** Longer answers are cut, since a browser lays them out slowly. */
const MAX_SHOWN_CHARACTERS = 200_000

const STATES: Readonly<Record<Outcome['state'], string>> = {
  running: t('The call is running.'),
  done: t('The call has succeeded.'),
  failed: t('The call has failed.'),
  stopped: t('You have stopped the call.'),
}

/** The state of a call. */
function OutcomeView({ outcome, isStream }: { outcome: Outcome; isStream: boolean }): VNode {
  const { state, durationMs, headers, trailers, messages, count, refusal } = outcome
  return (
    <>
      {/* Screen readers are told about the state, but not about each message of a stream. */}
      <p role="status">
        {STATES[state]}{' '}
        {state !== 'running' && t('It took {duration}.', { duration: milliseconds(durationMs) })}
      </p>
      {isStream && (
        <p class="facts">
          {count > messages.length
            ? plural(
                count,
                '{count} message, of which the last {shown} are shown',
                '{count} messages, of which the last {shown} are shown',
                { shown: messages.length },
              )
            : plural(count, '{count} message', '{count} messages')}
        </p>
      )}
      {refusal && (
        <>
          <FailureNote failure={refusal.failure} />
          <p>
            <T text="Code: {code}" code={<code>{refusal.code}</code>} />
          </p>
          <Json label={t('Details of the error')} value={refusal.details} />
        </>
      )}
      {messages.map((message, i) => {
        const number = count - messages.length + i + 1
        const label = isStream ? t('Message {number}', { number: String(number) }) : t('Response')
        return <Json key={number} label={label} value={message} />
      })}
      <Headers title={t('Headers of the response')} headers={headers} />
      <Headers title={t('Trailers of the response')} headers={trailers} />
    </>
  )
}

function Json({ label, value }: { label: string; value: JsonValue | readonly JsonValue[] }): VNode {
  const text = JSON.stringify(value, undefined, 2)
  return (
    <>
      <h3>{label}</h3>
      {text.length > MAX_SHOWN_CHARACTERS && (
        <p class="note">{t('Only the beginning is shown.')}</p>
      )}
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
  return numberText(duration, options)
}

/** More messages of a stream are counted only, so that a stream may stay open for hours. */
const MAX_SHOWN_MESSAGES = 200

/** The state of a call. */
interface Outcome {
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  readonly durationMs: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly trailers: readonly (readonly [name: string, value: string])[]
  /** The last messages, as JSON. */
  readonly messages: readonly JsonValue[]
  /** The number of all messages. */
  readonly count: number
  readonly refusal?: Refusal
}

/** Why a call failed. */
interface Refusal {
  readonly failure: Failure
  readonly code: string
  /** The details of the error, as JSON with their types. */
  readonly details: readonly JsonValue[]
}

const STARTED: Outcome = {
  state: 'running',
  durationMs: 0,
  headers: [],
  trailers: [],
  messages: [],
  count: 0,
}

/** A call that the user makes, and makes again. */
interface Call {
  /** The outcome of the last one; undefined before the first. */
  readonly outcome: Outcome | undefined
  send(request: Message): void
  stop(): void
}

/** Makes calls of a method. A call ends with the component. */
function useCall(transport: Transport, registry: Registry, method: DescMethod): Call {
  const [outcome, setOutcome] = useState<Outcome>()
  const ended = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => ended.current?.abort(), [])
  return {
    outcome,
    stop: () => ended.current?.abort(),
    send(request) {
      const controller = new AbortController()
      const { signal } = controller
      ended.current?.abort()
      ended.current = controller
      const startedAt = performance.now()
      setOutcome(STARTED)
      const add = (change: (before: Outcome) => Partial<Outcome>) => {
        const durationMs = performance.now() - startedAt
        if (ended.current === controller)
          setOutcome((before = STARTED) => ({ ...before, durationMs, ...change(before) }))
      }
      exchange({ transport, registry, method, request, signal }, add).then(
        () => add(() => ({ state: 'done' })),
        (error: unknown) =>
          add(() => (signal.aborted ? { state: 'stopped' } : failed(error, registry))),
      )
    },
  }
}

interface Exchange {
  readonly transport: Transport
  readonly registry: Registry
  readonly method: DescMethod
  readonly request: Message
  readonly signal: AbortSignal
}

/** Sends a request, and reports what comes back while it comes. */
async function exchange(
  { transport, registry, method, request, signal }: Exchange,
  add: (change: (before: Outcome) => Partial<Outcome>) => void,
): Promise<void> {
  const show = (bytes: Uint8Array) => {
    const json = toJson(method.output, fromBinary(method.output, bytes), { registry })
    add(({ messages, count }) => ({
      messages: [...messages, json].slice(-MAX_SHOWN_MESSAGES),
      count: count + 1,
    }))
  }
  const call = {
    path: `/${method.parent.typeName}/${method.name}`,
    request: toBinary(method.input, request),
    signal,
  }
  if (method.methodKind === 'unary') {
    const answer = await transport.unary(call)
    add(() => ({ headers: [...answer.header], trailers: [...answer.trailer] }))
    return show(answer.message)
  }
  if (method.methodKind !== 'server_streaming')
    throw new ConnectError(t('a browser cannot send a stream'), Code.Unimplemented)
  const answer = await transport.stream(call)
  add(() => ({ headers: [...answer.header] }))
  for await (const message of answer.message) show(message)
  add(() => ({ trailers: [...answer.trailer] }))
}

function failed(thrown: unknown, registry: Registry): Partial<Outcome> {
  const error = ConnectError.from(thrown)
  const details = error.details.map((detail): JsonValue => {
    const desc = registry.getMessage(detail.type)
    const json = desc && toJson(desc, fromBinary(desc, detail.value), { registry })
    const members = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {}
    return { '@type': detail.type, ...members }
  })
  return {
    state: 'failed',
    headers: [...error.metadata],
    refusal: { failure: failureOf(error), code: nameOfCode(error.code).toUpperCase(), details },
  }
}
