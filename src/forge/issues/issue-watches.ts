import { readsKind } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { type IssueCommentView, viewCommentsById } from '../conversations/issue-comments.ts'
import type { ConversationsApp, OpenConversation } from '../conversations/ports.ts'
import { countReactionsByContent, type ReactionCount } from '../conversations/reactions.rows.ts'
import { newestTimelineEntry } from '../conversations/timeline.rows.ts'
import { entriesAfter, type TimelineView, viewCommentEntries } from '../conversations/timeline.ts'
import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { EventPage } from '../core/event-logs.ts'
import type { ConversationName } from '../core/names.ts'
import {
  notedCommentOf,
  readConversationEvents,
  reopenWatched,
  startOfRepositoryEvents,
} from '../repositories/activity/repository-events.ts'
import type { RepositoryEvent } from '../repositories/schema.ts'
import { type ConversationView, viewAgain } from './issue-views.ts'
import { findNamed } from './open-issues.ts'

/**
 * The changes of single conversations for those who watch them. They come from the events of the
 * repository and from the timeline; nothing is stored for them.
 */

/** A conversation that somebody watches. Ids are those of rows. */
export interface WatchedIssue {
  readonly id: number
  readonly repositoryId: number
  readonly number: number
}

/** How far a stream has come: the ids of the last event and of the last entry of the timeline. */
export interface IssuePosition {
  readonly event: number
  readonly entry: number
}

/** A change to send. `id` and `entry` are the position after it. */
export type WatchedChange = { readonly id: number; readonly entry: number } & (
  | { readonly kind: 'entry'; readonly view: TimelineView }
  | { readonly kind: 'comment edited'; readonly view: IssueCommentView }
  | { readonly kind: 'comment deleted'; readonly commentId: number }
  | { readonly kind: 'changed'; readonly view: ConversationView }
  | {
      readonly kind: 'reactions'
      /** 0 for the conversation itself. */
      readonly commentId: number
      readonly counts: readonly ReactionCount[]
    }
  | { readonly kind: 'deleted' }
  /** What an event was about is gone. */
  | { readonly kind: 'nothing' }
)

type Told = WatchedChange extends infer T
  ? T extends WatchedChange
    ? Omit<T, 'id' | 'entry'>
    : never
  : never

/**
 * Opens a conversation to watch.
 *
 * @throws as `findNamed`
 */
export async function openWatchedIssue(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
): Promise<WatchedIssue> {
  const { conversation, repository } = await findNamed(app, caller, name)
  return { id: conversation.id, repositoryId: repository.id, number: conversation.number }
}

/** Returns where a stream starts: at the position where the previous one ended, or now. */
export async function startOfIssueChanges(
  app: ConversationsApp,
  { id, repositoryId }: WatchedIssue,
  position: IssuePosition | undefined,
): Promise<IssuePosition> {
  // The entries are read first, so that none is skipped whose event is still to come.
  const entry = position?.entry ?? (await newestTimelineEntry(app.db, id))
  return { event: await startOfRepositoryEvents(app, repositoryId, position?.event), entry }
}

/**
 * Returns the changes after a position, with the caller's present access.
 *
 * @throws BAD_CREDENTIALS; ISSUE_NOT_FOUND when the conversation is gone or the caller may no longer
 *   read it.
 */
export async function readIssueChanges(
  app: ConversationsApp,
  opened: Caller,
  watched: WatchedIssue,
  position: IssuePosition,
): Promise<{ readonly caller: Caller; readonly page: EventPage<WatchedChange> }> {
  const { caller, open } = await reopenWatched(app, opened, watched.repositoryId).catch(asMissing)
  const page = await readConversationEvents(app, watched, position.event)
  if (!(await findConversation(app.db, watched.id))) {
    // Readers of the repository learn that the conversation that they have opened is gone.
    const { events } = page
    const reads = readsKind(open.units, { is_pull: 0 })
    if (!reads || !events.some(({ type }) => type === 'ISSUE_DELETED'))
      throw new DomainError('ISSUE_NOT_FOUND')
    const { entry } = position
    const told = events.map(({ id, type }) => {
      const kind = type === 'ISSUE_DELETED' ? ('deleted' as const) : ('nothing' as const)
      return { id, entry, kind }
    })
    return { caller, page: { ...page, events: told } }
  }
  const name = { owner: open.owner.name, repo: open.repository.name, number: watched.number }
  const conversation = await app.conversations.open(app, caller, name, 'read')
  if (conversation.conversation.id !== watched.id) throw new DomainError('ISSUE_NOT_FOUND')
  const events = await changesOf(app, caller, conversation, page.events, position)
  return { caller, page: { ...page, events } }
}

/** A repository that is gone or hidden is a conversation that is not found. */
function asMissing(error: unknown): never {
  const isMissing = error instanceof DomainError && error.reason === 'REPOSITORY_NOT_FOUND'
  throw isMissing ? new DomainError('ISSUE_NOT_FOUND') : error
}

async function changesOf(
  app: ConversationsApp,
  caller: Caller,
  open: OpenConversation,
  events: readonly RepositoryEvent[],
  position: IssuePosition,
): Promise<WatchedChange[]> {
  if (events.length === 0) return []
  const { owner, repository, conversation } = open
  const name = { owner: owner.name, repo: repository.name, number: conversation.number }
  const view = await viewAgain(app, caller, name)
  const entries = await entriesAfter(app, caller, open, position.entry)
  const comments = await commentsOf(app, caller, open, events)
  const changes: WatchedChange[] = []
  let { event: before, entry } = position
  const last = events.findLast((one) => !notedCommentOf(one))
  for (const event of events) {
    const told = await comments.changeOf(event)
    // An entry belongs to the first event that is not older, and that is not about a comment.
    const isDue = ({ entry: { create_time } }: TimelineView) =>
      event === last || create_time * 1000 <= event.time
    const due = told ? 0 : entries.findLastIndex(isDue) + 1
    for (const found of entries.splice(0, due)) {
      entry = found.entry.id
      changes.push({ id: before, entry, kind: 'entry', view: found })
    }
    changes.push({ id: event.id, entry, ...(told ?? { kind: 'changed', view }) })
    before = event.id
  }
  return changes
}

/** Reads the comments that events are about. */
async function commentsOf(
  app: ConversationsApp,
  caller: Caller,
  open: OpenConversation,
  events: readonly RepositoryEvent[],
) {
  const ids = [...new Set(events.flatMap((event) => notedCommentOf(event)?.commentId || []))]
  const created = await viewCommentEntries(app, caller, open, ids)
  const views = await viewCommentsById(
    app,
    ids,
    new Map([[open.conversation.id, { open, conversation: open.conversation }]]),
  )
  return {
    /** Returns what an event of a comment or a reaction tells; undefined for other events. */
    async changeOf(event: RepositoryEvent): Promise<Told | undefined> {
      const noted = notedCommentOf(event)
      if (!noted) return undefined
      const { commentId, change } = noted
      switch (change) {
        case 'created': {
          const view = created.get(commentId)
          return view ? { kind: 'entry', view } : { kind: 'nothing' }
        }
        case 'edited': {
          const view = views.get(commentId)
          return view ? { kind: 'comment edited', view } : { kind: 'nothing' }
        }
        case 'deleted':
          return { kind: 'comment deleted', commentId }
        case 'reactions': {
          if (commentId !== 0 && !views.has(commentId)) return { kind: 'nothing' }
          const target = { conversationId: open.conversation.id, commentId: commentId || null }
          const counts = await countReactionsByContent(app.db, target)
          return { kind: 'reactions', commentId, counts }
        }
      }
    },
  }
}
