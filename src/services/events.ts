import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { type Event, Event_Type, type EventSchema } from '#gen/branchline/v1/event_pb.ts'
import type { EventService, WatchEventsResponseSchema } from '#gen/branchline/v1/event_service_pb.ts'
import { holdsScope, type SignedIn, signedIn } from '../domain/access.ts'
import { findNotifications } from '../domain/accounts/notifications.ts'
import { reauthenticate } from '../domain/accounts/reauthentication.ts'
import { createUserEventWatches, type StartTimer, type UserEventWatch } from '../domain/accounts/user-event-watches.ts'
import {
  type OwnEvent,
  type OwnEventPage,
  readUserEvents,
  startOfUserEvents,
  type UserEventType,
} from '../domain/accounts/user-events.ts'
import type { User } from '../domain/accounts/users.ts'
import type { App } from '../domain/app.ts'
import { DomainError } from '../domain/errors.ts'
import { readerOf } from '../domain/memos/memo-access.ts'
import { findReadableMemos } from '../domain/memos/memos.ts'
import { callerOf } from './call.ts'
import { type ListIdentity, verifyPageToken, writePageToken } from './lists.ts'
import { memoMessage } from './memos.ts'
import { userName } from './names.ts'
import { notificationMessage } from './notifications.ts'

/**
 * How long events that were read wait for a slow client to take them, before they and what they are about are read
 * again: what is sent shall be how things are.
 */
const MAX_AGE_MS = 1_000

const MEMO_SCOPE = 'read:memo'

/** What a stream was opened for. */
interface Watching {
  readonly watch: UserEventWatch
  /** Where it starts, the id of an event. */
  readonly start: number
  /** Undefined for all. */
  readonly types: readonly UserEventType[] | undefined
  /** Aborts when the client leaves, its deadline passes or the server stops. */
  readonly signal: AbortSignal
}

type Answer = MessageInitShape<typeof WatchEventsResponseSchema>

/**
 * Implements EventService.
 *
 * @param startTimer of heartbeats; Node's by default.
 */
export function eventService(app: App, startTimer?: StartTimer): ServiceImpl<typeof EventService> {
  const watches = createUserEventWatches(app, startTimer)
  return {
    async *watchEvents(request, context) {
      const caller = signedIn(callerOf(context))
      const types = readTypes(request.types)
      if (types?.every(isNotificationType) !== true && !holdsScope(caller, MEMO_SCOPE)) {
        throw new DomainError('SCOPE_MISSING', { scope: MEMO_SCOPE })
      }
      const position = readCursor(app, caller.user, request.cursor)
      const { signal } = context
      const watch = await watches.open(caller.user.id, signal)
      try {
        const start = await startOfUserEvents(app, caller.user, position)
        yield* answers(app, caller, { watch, start, types, signal })
      } finally {
        watch.close()
      }
    },
  }
}

/**
 * Answers for as long as the stream goes on. A page of events is read once the one before is on its way, so that nothing
 * piles up for a client that does not read.
 */
async function* answers(app: App, opened: SignedIn, { watch, start, types, signal }: Watching): AsyncGenerator<Answer> {
  let position = start
  yield { cursor: writeCursor(app, opened.user, position) }
  for (;;) {
    const caller = await reauthenticate(app, opened)
    const page = await readUserEvents(app, caller.user, position, types)
    position = yield* pageAnswers(app, caller, page)
    if (page.events.length === 0 && watch.isSilent) yield { cursor: writeCursor(app, caller.user, position) }
    if (page.events.length > 0 || watch.isSilent) watch.sent()
    if (position === page.next && !page.more) await watch.next()
    // The reason is an RPC error when the server stops or the deadline passes, and says nothing when the client left.
    if (signal.aborted) throw ConnectError.from(signal.reason)
  }
}

/** @returns where to go on: behind the page, or behind what was sent of it before it was too old to send. */
async function* pageAnswers(
  app: App,
  caller: SignedIn,
  { events, next }: OwnEventPage,
): AsyncGenerator<Answer, number> {
  const readMs = app.clock.now()
  const currentOf = await readCurrent(app, caller, events)
  for (const event of events) {
    yield { cursor: writeCursor(app, caller.user, event.id), event: eventMessage(caller.user, event, currentOf(event)) }
    if (app.clock.now() - readMs > MAX_AGE_MS) return event.id
  }
  return next
}

type Current = Event['current']

/** What events are about, as the caller may see it now, in a few queries however many events they are. */
async function readCurrent(
  app: App,
  caller: SignedIn,
  events: readonly OwnEvent[],
): Promise<(event: OwnEvent) => Current> {
  const reader = readerOf(caller)
  const ids = events.filter(isAboutNotification).map(({ resource }) => Number(resource))
  const uids = events.filter((event) => !isAboutNotification(event)).map(({ resource }) => resource)
  const notifications = await findNotifications(app, caller.user, ids)
  const memos = await findReadableMemos(app.db, reader, uids)
  return (event) => {
    if (isAboutNotification(event)) {
      const view = notifications.get(Number(event.resource))
      return view ? { case: 'notification', value: notificationMessage(caller.user, view, caller) } : NOTHING
    }
    const view = memos.get(event.resource)
    return view ? { case: 'memo', value: memoMessage(view, reader) } : NOTHING
  }
}

const NOTHING: Current = { case: undefined }

function eventMessage(user: User, event: OwnEvent, current: Current): MessageInitShape<typeof EventSchema> {
  return {
    type: Event_Type[event.type],
    time: timestampFromMs(event.time),
    resource: isAboutNotification(event)
      ? `${userName(user)}/notifications/${event.resource}`
      : `memos/${event.resource}`,
    current,
  }
}

const NOTIFICATION_TYPES: readonly UserEventType[] = [
  'NOTIFICATION_CREATED',
  'NOTIFICATION_UPDATED',
  'NOTIFICATION_DELETED',
]

function isNotificationType(type: UserEventType): boolean {
  return NOTIFICATION_TYPES.includes(type)
}

function isAboutNotification({ type }: OwnEvent): boolean {
  return isNotificationType(type)
}

/**
 * The types that a request asks for; undefined for all.
 *
 * @throws INVALID_FIELD
 */
function readTypes(types: readonly Event_Type[]): readonly UserEventType[] | undefined {
  if (types.length === 0) return undefined
  return [...new Set(types)].map((type) => {
    const name = Event_Type[type] as keyof typeof Event_Type | undefined
    if (name === undefined || name === 'TYPE_UNSPECIFIED') throw new DomainError('INVALID_FIELD', { field: 'types' })
    return name
  })
}

/** A cursor is a page token of a list that never ends. */
function listOf(user: User): ListIdentity {
  return { method: 'WatchEvents', parent: String(user.id), filter: '' }
}

function writeCursor(app: App, user: User, position: number): string {
  return writePageToken(app, listOf(user), [position])
}

/**
 * The position in a cursor; undefined for an empty one.
 *
 * @throws INVALID_CURSOR
 */
function readCursor(app: App, user: User, cursor: string): number | undefined {
  if (cursor === '') return undefined
  const [position] = verifyPageToken(app, listOf(user), cursor) ?? []
  if (position === undefined) throw new DomainError('INVALID_CURSOR')
  return position
}
