import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  toJson,
} from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { onSubmit } from '../components/field.tsx'
import { SignInLink } from '../components/sign-in-link.tsx'
import { type DraftFields, fieldsOfJson, isRequired, jsonOfFields } from './draft.ts'
import { DraftForm, NeedContext } from './draft-form.tsx'
import { exampleOf } from './example.ts'
import { isObject } from './json.ts'
import { exampleText, LANGUAGES, type Language } from './languages.ts'
import { fieldsInPaths, obstacleTo } from './method-facts.ts'
import { OutcomeView } from './outcome-view.tsx'
import { type Call, useCall } from './sending.ts'

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
        <h2 id="request">Request</h2>
        <form onSubmit={onSubmit(() => use(call.send))}>
          <button type="button" onClick={changeMode}>
            {written.mode === 'form' ? 'Write the request as JSON' : 'Write the request as a form'}
          </button>
          <NeedContext.Provider value={needs}>
            <Editor type={method.input} written={written} onChange={setWritten} />
          </NeedContext.Provider>
          {mistake !== '' && (
            <p class="note problem" role="alert">
              The request is not valid: {mistake}
            </p>
          )}
          <Buttons method={method} call={call} />
        </form>
      </section>
      {call.outcome && (
        <section aria-labelledby="outcome">
          <h2 id="outcome">Outcome</h2>
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
        <p class="hint">Empty fields are omitted; use JSON to send empty strings.</p>
        <DraftForm
          message={type}
          fields={written.fields}
          onChange={(fields) => onChange({ mode: 'form', fields })}
        />
      </>
    )
  return (
    <label>
      Request as JSON
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
        Send {method.name}
      </button>
      {isRunning && (
        <button type="button" onClick={call.stop}>
          Stop
        </button>
      )}
    </p>
  )
}

/** The call in other languages, with what is in the form now. */
function Examples({ method, json }: { method: DescMethod; json: JsonObject }): VNode | null {
  const isSignedIn = useApi().session.user !== undefined
  const example = exampleOf(method, json, { origin: location.origin, isSignedIn })
  const texts = Object.entries(LANGUAGES).flatMap(([language, name]) => {
    const text = exampleText(language as Language, example)
    return text === undefined ? [] : [{ name, text }]
  })
  const [chosen, setChosen] = useState('')
  const shown = texts.find(({ name }) => name === chosen) ?? texts[0]
  if (!shown) return null
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">The call in other programs</h2>
      <label>
        Language
        <select value={shown.name} onChange={(event) => setChosen(event.currentTarget.value)}>
          {texts.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Command label={`The call as ${shown.name}`} text={shown.text} />
      <p class="hint">
        {example.credentials === 'token' && 'Put a personal access token into the variable TOKEN. '}
        {example.credentials === 'password' &&
          'Put the name of the account into the variable USERNAME, and its password into PASSWORD where the text names it. '}
        {shown.text.includes('SECRET') && 'Replace SECRET by the secret of the form.'}
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
