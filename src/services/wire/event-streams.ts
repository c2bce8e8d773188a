import { ConnectError } from '@connectrpc/connect'
import type { App } from '../../domain/app.ts'
import { DomainError } from '../../domain/core/errors.ts'
import type { EventPage } from '../../domain/core/event-logs.ts'
import type { EventWatch } from '../../domain/core/event-watches.ts'
import { type ListIdentity, verifyPageToken } from './lists.ts'

/**
 * How long events that were read wait for a slow client to take them, before they and what they are
 * about are read again: what is sent shall be how things are.
 */
const MAX_AGE_MS = 1_000

/** A stream of the events of one log. */
export interface EventStream<Event, Answer> {
  readonly watch: EventWatch
  /** Where it starts, the id of an event. */
  readonly start: number
  /** Aborts when the client leaves, its deadline passes or the server stops. */
  readonly signal: AbortSignal
  /** An answer that carries nothing but where to go on. */
  heartbeat(position: number): Answer
  /**
   * Some events behind a position, and how they are shown to the caller, as of now.
   *
   * @throws what the stream ends with, once the caller may not have it any more.
   */
  read(position: number): Promise<{ readonly page: EventPage<Event>; answer(event: Event): Answer }>
}

/**
 * Answers for as long as the stream goes on. A page of events is read once the one before is on its
 * way, so that nothing piles up for a client that does not read.
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
    // The reason is an RPC error when the server stops or the deadline passes, and says nothing
    // when the client left.
    if (signal.aborted) throw ConnectError.from(signal.reason)
  }
}

/**
 * The position in a cursor, which is a page token of a list that never ends; undefined for an empty
 * one.
 *
 * @throws INVALID_CURSOR
 */
export function readCursor(app: App, list: ListIdentity, cursor: string): number | undefined {
  if (cursor === '') return undefined
  const [position] = verifyPageToken(app, list, cursor) ?? []
  if (position === undefined) throw new DomainError('INVALID_CURSOR')
  return position
}

/**
 * The types of events that a request asks for; undefined for all.
 *
 * @param nameOf the name of a type, undefined for a number that is none.
 * @throws INVALID_FIELD
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
