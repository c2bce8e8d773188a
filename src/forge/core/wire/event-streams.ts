import { ConnectError } from '@connectrpc/connect'
import type { App } from '../../app.ts'
import { DomainError } from '../errors.ts'
import type { EventPage } from '../event-logs.ts'
import type { EventWatch } from '../event-watches.ts'
import { type ListIdentity, verifyPageToken } from './lists.ts'

/**
 * The maximum time for which events wait until a slow client receives them. After this time, the
 * events and their subjects are read again, so that clients receive the current state.
 */
const MAX_AGE_MS = 1_000

/** A stream of the events of one log. */
export interface EventStream<Event, Answer> {
  readonly watch: EventWatch
  /** The position where the stream starts: the id of an event. */
  readonly start: number
  /** Aborts when the client disconnects, the deadline passes or the server stops. */
  readonly signal: AbortSignal
  /** Creates a response that contains only the position to continue at. */
  heartbeat(position: number): Answer
  /**
   * Reads events after a position, with a function that converts them to responses for the caller.
   *
   * @throws an error that ends the stream when the caller may no longer read it.
   */
  read(position: number): Promise<{ readonly page: EventPage<Event>; answer(event: Event): Answer }>
}

/**
 * Yields responses until the stream ends. The next page of events is read after the previous one
 * was sent, so nothing accumulates for a slow client.
 */
export async function* streamEvents<Event extends { readonly id: number }, Answer>(
  app: App,
  stream: EventStream<Event, Answer>,
): AsyncGenerator<Answer> {
  const { watch, start, signal } = stream
  let position = start
  yield stream.heartbeat(position)
  for (;;) {
    const readMs = app.clock.now()
    const { page, answer } = await stream.read(position)
    checkOpen(signal)
    let isSent = true
    for (const event of page.events) {
      yield answer(event)
      position = event.id
      isSent = app.clock.now() - readMs <= MAX_AGE_MS
      if (!isSent) break
    }
    if (isSent) position = page.next
    if (page.events.length === 0 && watch.isSilent) yield stream.heartbeat(position)
    if (page.events.length > 0 || watch.isSilent) watch.sent()
    if (position === page.next && !page.more) await watch.next()
    checkOpen(signal)
  }
}

/**
 * Ends a stream that is aborted. The reason is an RPC error when the server stops or the deadline
 * passes, and unspecified when the client disconnects.
 */
function checkOpen(signal: AbortSignal): void {
  if (signal.aborted) throw ConnectError.from(signal.reason)
}

/**
 * Returns the position in a cursor; undefined for an empty cursor. A cursor is a page token of an
 * endless list.
 */
export function readCursor(app: App, list: ListIdentity, cursor: string): number | undefined {
  if (cursor === '') return undefined
  const [position] = verifyPageToken(app, list, cursor) ?? []
  if (position === undefined) throw new DomainError('INVALID_CURSOR')
  return position
}

/**
 * Returns the types of events that a request asks for; undefined for all.
 *
 * @param nameOf returns the name of a type; undefined for an unknown number.
 */
export function readEventTypes<Name extends string>(
  types: readonly number[],
  nameOf: (type: number) => Name | 'TYPE_UNSPECIFIED' | undefined,
): readonly Exclude<Name, 'TYPE_UNSPECIFIED'>[] | undefined {
  if (types.length === 0) return undefined
  return [...new Set(types)].map((type) => {
    const name = nameOf(type)
    if (name === undefined || name === 'TYPE_UNSPECIFIED')
      throw new DomainError('INVALID_FIELD', { field: 'types' })
    return name as Exclude<Name, 'TYPE_UNSPECIFIED'>
  })
}
