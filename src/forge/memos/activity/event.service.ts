import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Event, Event_Type, type EventSchema } from '#gen/branchline/v1/event_pb.ts'
import {
  EventService,
  type WatchEventsResponseSchema,
} from '#gen/branchline/v1/event_service_pb.ts'
import { reauthenticate } from '../../accounts/credentials/reauthentication.ts'
import type { App } from '../../app.ts'
import { holdsScope, type SignedIn, signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { StartTimer } from '../../core/event-watches.ts'
import type { User } from '../../core/schema.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readCursor, readEventTypes, streamEvents } from '../../core/wire/event-streams.ts'
import { type ListIdentity, writePageToken } from '../../core/wire/lists.ts'
import { userName } from '../../core/wire/names.ts'
import { memoMessage } from '../memo.service.ts'
import { readerOf } from '../memo-access.ts'
import { findReadableMemos } from '../memos.ts'
import { notificationMessage } from './notifications.service.ts'
import { findNotifications } from './notifications.ts'
import {
  createUserEventWatches,
  type OwnEvent,
  type OwnEventPage,
  readUserEvents,
  startOfUserEvents,
  type UserEventType,
} from './user-events.ts'

const MEMO_SCOPE = 'read:memo'

type Answer = MessageInitShape<typeof WatchEventsResponseSchema>

/**
 * Implements EventService.
 *
 * @param startTimer starts the timers of heartbeats. Node's timers by default.
 */
export function eventService(app: App, startTimer?: StartTimer): ServiceImpl<typeof EventService> {
  const watches = createUserEventWatches(app, startTimer)
  return {
    async *watchEvents(request, context) {
      const caller = signedIn(callerOf(context))
      const types = readEventTypes(
        request.types,
        (type) => Event_Type[type] as keyof typeof Event_Type | undefined,
      )
      if (types?.every(isNotificationType) !== true && !holdsScope(caller, MEMO_SCOPE)) {
        throw new DomainError('SCOPE_MISSING', { scope: MEMO_SCOPE })
      }
      const position = readCursor(app, listOf(caller.user), request.cursor)
      const { signal } = context
      const watch = await watches.open(caller.user.id, signal)
      try {
        const start = await startOfUserEvents(app, caller.user, position)
        const heartbeat = (behind: number): Answer => ({
          cursor: writeCursor(app, caller.user, behind),
        })
        const read = (behind: number) => readPage(app, caller, behind, types)
        yield* streamEvents(app, { watch, start, signal, heartbeat, read })
      } finally {
        watch.close()
      }
    },
  }
}

/** Reads events after a position, and what the caller may currently read of their subjects. */
async function readPage(
  app: App,
  opened: SignedIn,
  position: number,
  types: readonly UserEventType[] | undefined,
): Promise<{ page: OwnEventPage; answer(event: OwnEvent): Answer }> {
  const caller = await reauthenticate(app, opened)
  const page = await readUserEvents(app, caller.user, position, types)
  const currentOf = await readCurrent(app, caller, page.events)
  return {
    page,
    answer: (event) => ({
      cursor: writeCursor(app, caller.user, event.id),
      event: eventMessage(caller.user, event, currentOf(event)),
    }),
  }
}

type Current = Event['current']

/** Reads the subjects as the caller may currently see them, with a constant number of queries. */
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
      return view
        ? { case: 'notification', value: notificationMessage(app, caller.user, view, caller) }
        : NOTHING
    }
    const view = memos.get(event.resource)
    return view ? { case: 'memo', value: memoMessage(view, reader) } : NOTHING
  }
}

const NOTHING: Current = { case: undefined }

function eventMessage(
  user: User,
  event: OwnEvent,
  current: Current,
): MessageInitShape<typeof EventSchema> {
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

function listOf(user: User): ListIdentity {
  return { method: 'WatchEvents', parent: String(user.id), filter: '' }
}

function writeCursor(app: App, user: User, position: number): string {
  return writePageToken(app, listOf(user), [position])
}

export const events = defineService(EventService, eventService)
