import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type JsonValue,
  type Message,
  type Registry,
  toJson,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Failure, failureOf } from '../api/failure.ts'

/** More messages of a stream are counted only, so that a stream may stay open for hours. */
const MAX_SHOWN_MESSAGES = 200

/** The state of a call. */
export interface Outcome {
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
export interface Refusal {
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
export interface Call {
  /** The outcome of the last one; undefined before the first. */
  readonly outcome: Outcome | undefined
  send(request: Message): void
  stop(): void
}

/** Makes calls of a method. A call ends with the component. */
export function useCall(transport: Transport, registry: Registry, method: DescMethod): Call {
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
  const show = (message: Message) => {
    const json = toJson(method.output, message, { registry })
    add(({ messages, count }) => ({
      messages: [...messages, json].slice(-MAX_SHOWN_MESSAGES),
      count: count + 1,
    }))
  }
  if (isUnary(method)) {
    const answer = await transport.unary(method, signal, undefined, undefined, request)
    add(() => ({ headers: [...answer.header], trailers: [...answer.trailer] }))
    return show(answer.message)
  }
  if (!isServerStreaming(method))
    throw new ConnectError('a browser cannot send a stream', Code.Unimplemented)
  const answer = await transport.stream(method, signal, undefined, undefined, one(request))
  add(() => ({ headers: [...answer.header] }))
  for await (const message of answer.message) show(message)
  add(() => ({ trailers: [...answer.trailer] }))
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary'
}

function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === 'server_streaming'
}

async function* one(request: Message): AsyncGenerator<Message> {
  yield request
}

function failed(thrown: unknown, registry: Registry): Partial<Outcome> {
  const error = ConnectError.from(thrown)
  const details = error.details.map((detail): JsonValue => {
    if ('desc' in detail) return { '@type': detail.desc.typeName }
    const desc = registry.getMessage(detail.type)
    const json = desc && toJson(desc, fromBinary(desc, detail.value), { registry })
    const members = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {}
    return { '@type': detail.type, ...members }
  })
  return {
    state: 'failed',
    headers: [...error.metadata],
    refusal: { failure: failureOf(error), code: codeName(error.code), details },
  }
}

/** Returns the name of a code, as the comments of the schema have it. */
function codeName(code: Code): string {
  return (Code[code] ?? String(code)).replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
}
