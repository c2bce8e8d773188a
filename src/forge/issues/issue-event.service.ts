import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  IssueEventService,
  type WatchIssueResponseSchema,
  type WatchIssuesResponseSchema,
} from '#gen/branchline/v1/issue_event_service_pb.ts'
import type { App } from '../app.ts'
import { commentMessage } from '../conversations/issue-comment.service.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { StartTimer } from '../core/event-watches.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readCursor, streamEvents } from '../core/wire/event-streams.ts'
import { type ListIdentity, verifyPageToken, writePageToken } from '../core/wire/lists.ts'
import { createRepositoryWatches } from '../repositories/activity/repository-events.ts'
import {
  type ConcerningChange,
  createConcernWatches,
  readConcerns,
  startOfConcerns,
} from './concern-watches.ts'
import { conversationMessage, linkMessage } from './issue.message.ts'
import { timelineMessages } from './issue.service.ts'
import {
  type IssuePosition,
  openWatchedIssue,
  readIssueChanges,
  startOfIssueChanges,
  type WatchedChange,
  type WatchedIssue,
} from './issue-watches.ts'

type Answer = MessageInitShape<typeof WatchIssueResponseSchema>

type Methods = ServiceImpl<typeof IssueEventService>

/**
 * Implements IssueEventService.
 *
 * @param startTimer starts the timer of heartbeats; that of Node by default
 */
function issueEventService(app: App, startTimer?: StartTimer): Methods {
  return { ...watchOne(app, startTimer), ...watchOwn(app, startTimer) }
}

function watchOne(app: App, startTimer?: StartTimer): Pick<Methods, 'watchIssue'> {
  const watches = createRepositoryWatches(app, startTimer)
  return {
    async *watchIssue({ owner, repo, index, cursor }, context) {
      const caller = callerOf(context)
      const { signal } = context
      const watched = await openWatchedIssue(app, caller, { owner, repo, number: Number(index) })
      const list = listOf(watched)
      const position = readPosition(app, list, cursor)
      const watch = await watches.open(caller, watched.repositoryId, signal)
      try {
        const start = await startOfIssueChanges(app, watched, position)
        let { entry } = start
        const cursorAt = (event: number) => writePageToken(app, list, [event, entry])
        const heartbeat = (behind: number): Answer => ({ cursor: cursorAt(behind) })
        const read = async (behind: number) => {
          const found = await readIssueChanges(app, caller, watched, { event: behind, entry })
          const messages = await changeMessages(app, found.caller, found.page.events)
          const answer = (change: WatchedChange): Answer => {
            entry = change.entry
            const message = messages.get(change)
            return { cursor: cursorAt(change.id), ...(message && { change: message }) }
          }
          return { page: found.page, answer }
        }
        const stream = { watch, start: start.event, signal, heartbeat, read }
        for await (const answer of streamEvents(app, stream)) {
          yield answer
          if (answer.change?.case === 'deleted') throw new DomainError('ISSUE_NOT_FOUND')
        }
      } finally {
        watch.close()
      }
    },
  }
}

function watchOwn(app: App, startTimer?: StartTimer): Pick<Methods, 'watchIssues'> {
  const watches = createConcernWatches(app, startTimer)
  return {
    async *watchIssues(request, context) {
      const caller = signedIn(callerOf(context))
      const { signal } = context
      const list = { method: 'WatchIssues', parent: String(caller.user.id), filter: '' }
      const position = readCursor(app, list, request.cursor)
      const watch = await watches.open(caller.user.id, signal)
      try {
        const start = await startOfConcerns(app, position)
        const heartbeat = (behind: number): OwnAnswer => ({
          cursor: writePageToken(app, list, [behind]),
        })
        const answer = (change: ConcerningChange): OwnAnswer => ({
          cursor: writePageToken(app, list, [change.id]),
          issue: linkMessage(change),
          deleted: change.isDeleted,
        })
        const read = async (behind: number) => ({
          page: await readConcerns(app, caller, behind),
          answer,
        })
        yield* streamEvents(app, { watch, start, signal, heartbeat, read })
      } finally {
        watch.close()
      }
    },
  }
}

type OwnAnswer = MessageInitShape<typeof WatchIssuesResponseSchema>

/** The resource that cursors belong to. */
function listOf({ id }: WatchedIssue): ListIdentity {
  return { method: 'WatchIssue', parent: String(id), filter: '' }
}

/** Returns the position in a cursor; undefined for an empty one. */
function readPosition(app: App, list: ListIdentity, cursor: string): IssuePosition | undefined {
  if (cursor === '') return undefined
  const [event, entry] = verifyPageToken(app, list, cursor) ?? []
  if (event === undefined || entry === undefined) throw new DomainError('INVALID_CURSOR')
  return { event, entry }
}

type ChangeMessage = NonNullable<Answer['change']>

/** Returns what changes tell; nothing for what is gone. */
async function changeMessages(
  app: App,
  viewer: Caller,
  changes: readonly WatchedChange[],
): Promise<ReadonlyMap<WatchedChange, ChangeMessage>> {
  const entries = changes.flatMap((change) => (change.kind === 'entry' ? [change] : []))
  const views = entries.map(({ view }) => view)
  const messages = await timelineMessages(app, viewer, views)
  const told = new Map<WatchedChange, ChangeMessage>()
  for (const [i, entry] of entries.entries()) {
    const value = messages[i]
    if (value) told.set(entry, { case: 'entry', value })
  }
  for (const change of changes) {
    const message = messageOf(app, viewer, change)
    if (message) told.set(change, message)
  }
  return told
}

function messageOf(app: App, viewer: Caller, change: WatchedChange): ChangeMessage | undefined {
  switch (change.kind) {
    case 'comment edited':
      return { case: 'commentEdited', value: commentMessage(app, viewer, change.view) }
    case 'comment deleted':
      return { case: 'commentDeleted', value: BigInt(change.commentId) }
    case 'changed':
      return { case: 'changed', value: conversationMessage(app, viewer, change.view) }
    case 'reactions': {
      const counts = change.counts.map(({ content, count }) => ({ content, count: BigInt(count) }))
      return { case: 'reactions', value: { commentId: BigInt(change.commentId), counts } }
    }
    case 'deleted':
      return { case: 'deleted', value: true }
    default:
      return undefined
  }
}

export const issueEvents = defineService(IssueEventService, issueEventService)
