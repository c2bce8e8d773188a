import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  RepositoryEvent_Type,
  type RepositoryEventSchema,
} from '#gen/branchline/v1/repository_event_pb.ts'
import {
  RepositoryEventService,
  type WatchRepositoryResponseSchema,
} from '#gen/branchline/v1/repository_event_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import type { Caller } from '../../core/access.ts'
import type { EventPage } from '../../core/event-logs.ts'
import type { StartTimer } from '../../core/event-watches.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readCursor, readEventTypes, streamEvents } from '../../core/wire/event-streams.ts'
import { type ListIdentity, writePageToken } from '../../core/wire/lists.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import {
  createRepositoryWatches,
  movedRefsOf,
  notedIssueOf,
  notedPullOf,
  notedQueueOf,
  notedStatusOf,
  type RepositoryEventType,
  readRepositoryEvents,
  reopenWatched,
  startOfRepositoryEvents,
  type WatchedEvent,
} from './repository-events.ts'

type Answer = MessageInitShape<typeof WatchRepositoryResponseSchema>

/**
 * Implements RepositoryEventService.
 *
 * @param startTimer starts the timer of heartbeats; that of Node by default
 */
export function repositoryEventService(
  app: App,
  startTimer?: StartTimer,
): ServiceImpl<typeof RepositoryEventService> {
  const watches = createRepositoryWatches(app, startTimer)
  return {
    async *watchRepository(request, context) {
      const caller = callerOf(context)
      const { id } = (await openRepository(app, caller, request, 'none')).repository
      const types = readEventTypes(
        request.types,
        (type) => RepositoryEvent_Type[type] as keyof typeof RepositoryEvent_Type | undefined,
      )
      const position = readCursor(app, listOf(id), request.cursor)
      const { signal } = context
      const watch = await watches.open(caller, id, signal)
      try {
        const start = await startOfRepositoryEvents(app, id, position)
        const heartbeat = (behind: number): Answer => ({
          cursor: repositoryEventCursor(app, id, behind),
        })
        const read = (behind: number) => readPage(app, caller, id, behind, types)
        yield* streamEvents(app, { watch, start, signal, heartbeat, read })
      } finally {
        watch.close()
      }
    },
  }
}

/** Returns the cursor of the stream behind an event of a repository. */
export function repositoryEventCursor(app: App, repositoryId: number, event: number): string {
  return writePageToken(app, listOf(repositoryId), [event])
}

/** The resource that cursors belong to. */
function listOf(repositoryId: number): ListIdentity {
  return { method: 'WatchRepository', parent: String(repositoryId), filter: '' }
}

/** Reads the events after a position with the caller's present access. */
async function readPage(
  app: App,
  opened: Caller,
  repositoryId: number,
  position: number,
  types: readonly RepositoryEventType[] | undefined,
): Promise<{ page: EventPage<WatchedEvent>; answer(event: WatchedEvent): Answer }> {
  const { caller, open } = await reopenWatched(app, opened, repositoryId)
  const page = await readRepositoryEvents(app, caller, open, position, types)
  return {
    page,
    answer: (event) => ({
      cursor: repositoryEventCursor(app, repositoryId, event.id),
      event: eventMessage(app, caller, open, event),
    }),
  }
}

function eventMessage(
  app: App,
  viewer: Caller,
  open: OpenRepository,
  event: WatchedEvent,
): MessageInitShape<typeof RepositoryEventSchema> {
  return {
    type: RepositoryEvent_Type[event.type],
    time: timestampFromMs(event.time),
    ...(event.actor && { actor: accountMessage(app, viewer, event.actor) }),
    subject: subjectOf(open, event),
  }
}

type Subject = NonNullable<MessageInitShape<typeof RepositoryEventSchema>['subject']>

function subjectOf({ repository, owner }: OpenRepository, event: WatchedEvent): Subject {
  const { type, subject } = event
  const id = BigInt(event.subject_id ?? 0)
  switch (type) {
    case 'REFS_UPDATED': {
      const { count, refs } = movedRefsOf(event)
      const list = refs.map(({ ref, oldId = '', newId = '' }) => ({ ref, oldId, newId }))
      return { case: 'refs', value: { count, refs: list } }
    }
    case 'RELEASE_DRAFTED':
    case 'RELEASE_PUBLISHED':
    case 'RELEASE_EDITED':
    case 'RELEASE_DELETED':
      return { case: 'release', value: { id, tagName: subject } }
    case 'BRANCH_PROTECTION_CREATED':
    case 'BRANCH_PROTECTION_EDITED':
    case 'BRANCH_PROTECTION_DELETED':
    case 'TAG_PROTECTION_CREATED':
    case 'TAG_PROTECTION_EDITED':
    case 'TAG_PROTECTION_DELETED':
      return { case: 'protection', value: { id, name: subject } }
    case 'PULL_REQUEST_OPENED':
    case 'PULL_REQUEST_EDITED':
    case 'PULL_REQUEST_CLOSED':
    case 'PULL_REQUEST_REOPENED':
    case 'PULL_REQUEST_MERGED':
    case 'PULL_REQUEST_RETARGETED':
    case 'PULL_REQUEST_HEAD_MOVED':
    case 'PULL_REQUEST_REVIEW_REQUESTED':
    case 'PULL_REQUEST_REVIEWED':
    case 'PULL_REQUEST_COMMENTED':
    case 'PULL_REQUEST_AUTO_MERGE_SCHEDULED':
    case 'PULL_REQUEST_AUTO_MERGE_CANCELLED':
    case 'PULL_REQUEST_RESTACK_FAILED':
    case 'MERGEABILITY_CHECKED': {
      const { number, base, head: headSha } = notedPullOf(event)
      return { case: 'pullRequest', value: { id, number: BigInt(number), base, headSha } }
    }
    case 'ISSUE_OPENED':
    case 'ISSUE_EDITED':
    case 'ISSUE_CLOSED':
    case 'ISSUE_REOPENED':
    case 'ISSUE_COMMENTED':
    case 'ISSUE_DELETED':
    case 'ISSUE_TRANSFERRED': {
      const { number, commentId } = notedIssueOf(event)
      const actor = event.actor?.name ?? ''
      return {
        case: 'issue',
        value: { id, number: BigInt(number), commentId: BigInt(commentId), actor },
      }
    }
    case 'COMMIT_STATUS_CREATED': {
      const { commit_id: sha, number, context, state: status } = notedStatusOf(event)
      return { case: 'commitStatus', value: { sha, id: BigInt(number), context, status } }
    }
    case 'MERGE_QUEUE_ENTERED':
    case 'MERGE_QUEUE_GROUP_CREATED':
    case 'MERGE_QUEUE_LEFT': {
      const { number, group, candidate: candidateSha, ...noted } = notedQueueOf(event)
      const value = { ...noted, candidateSha, number: BigInt(number), group: BigInt(group) }
      return { case: 'mergeQueue', value }
    }
    case 'LFS_LOCKED':
    case 'LFS_UNLOCKED':
      return { case: 'lfsLock', value: { id, path: subject } }
    case 'BRANCH_PROTECTIONS_REORDERED':
      return { case: undefined }
    default: {
      const { name, archive_time, default_branch: defaultBranch } = repository
      const [isPrivate, archived] = [repository.private === 1, archive_time !== null]
      const value = {
        id: BigInt(repository.id),
        owner: owner.name,
        name,
        private: isPrivate,
        archived,
        defaultBranch,
      }
      return { case: 'repository', value }
    }
  }
}

export const repositoryEvents = defineService(RepositoryEventService, repositoryEventService)
