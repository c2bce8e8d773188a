import { type IssueCommentView, listIssueComments } from '../conversations/issue-comments.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import { countAllReactions } from '../conversations/reactions.ts'
import { listTimeline, type TimelineView } from '../conversations/timeline.ts'
import type { Caller } from '../core/access.ts'
import type { ConversationName } from '../core/names.ts'
import { listCommentsOfReviews, type ReviewCommentView } from '../pulls/review/review-comments.ts'
import type { ReviewView } from '../pulls/review/review-views.ts'
import { listReviews } from '../pulls/review/reviews.ts'
import { startOfRepositoryEvents } from '../repositories/activity/repository-events.ts'
import { type CommitStatusView, latestStatusesOf } from '../repositories/commits/commit-statuses.ts'
import { getRepository } from '../repositories/lifecycle/repositories.ts'
import type { RepositoryView } from '../repositories/lifecycle/repository-views.ts'
import { type ConversationView, getConversation } from './issue-views.ts'

/** The first entries of each list of a conversation: as many as a page may have by default. */
const FIRST_ENTRIES = 50

/** A period without a beginning and an end. */
const ALWAYS = { since: undefined, before: undefined }

/** Entries of the timeline that are in the lists of comments and reviews too. */
const SAID: ReadonlySet<string> = new Set(['comment', 'review', 'code'])

/** A conversation with what was said about it. */
export interface WholeConversation {
  readonly view: ConversationView
  readonly repository: RepositoryView
  readonly comments: { readonly comments: readonly IssueCommentView[]; readonly total: number }
  readonly timeline: { readonly events: readonly TimelineView[]; readonly total: number }
  readonly reviews: {
    readonly reviews: readonly ReviewView[]
    readonly comments: readonly ReviewCommentView[]
    readonly total: number
  }
  readonly reactions: Awaited<ReturnType<typeof countAllReactions>>
  readonly statuses: readonly CommitStatusView[]
  /** The number of the last event of the repository before the conversation was read. */
  readonly lastEvent: number
  /** How many entries the lists may have. */
  readonly limit: number
}

/**
 * Returns a conversation with the first entries of its lists.
 *
 * @throws as `getConversation`
 */
export async function getWholeConversation(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  look: Parameters<typeof getConversation>[3],
): Promise<WholeConversation> {
  const repository = await getRepository(app, caller, name)
  const lastEvent = await startOfRepositoryEvents(app, repository.repository.id, undefined)
  // The other parts are about a conversation that the caller may read.
  const view = await getConversation(app, caller, name, look)
  const page = { offset: 0, limit: FIRST_ENTRIES }
  const [comments, timeline, reviews, reactions, statuses] = await Promise.all([
    listIssueComments(app, caller, name, ALWAYS, page),
    listTimeline(app, caller, name, ALWAYS, page),
    readReviews(app, caller, name, view),
    countAllReactions(app, caller, name),
    readStatuses(app, view),
  ])
  const events = timeline.entries.filter(({ entry }) => !SAID.has(entry.type))
  const limit = FIRST_ENTRIES
  return {
    ...{ view, repository, comments, reviews, reactions, statuses, lastEvent, limit },
    timeline: { events, total: timeline.total },
  }
}

/** Reads the first reviews of a pull request, with their comments. Issues have none. */
async function readReviews(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  { kind }: ConversationView,
): Promise<WholeConversation['reviews']> {
  if (kind === 'issue') return { reviews: [], comments: [], total: 0 }
  const page = { offset: 0, limit: FIRST_ENTRIES }
  const { reviews, total } = await listReviews(app, caller, name, page)
  const commented = reviews.filter(({ review }) => review.comments_count > 0)
  const [first] = commented
  if (!first) return { reviews, comments: [], total }
  const ids = commented.map(({ review }) => review.id)
  return { reviews, comments: await listCommentsOfReviews(app, first.open, ids), total }
}

async function readStatuses(
  app: ConversationsApp,
  view: ConversationView,
): Promise<readonly CommitStatusView[]> {
  if (view.kind === 'issue') return []
  const { repository_id, head_commit: commit_id } = view.pull.pull
  return commit_id === '' ? [] : latestStatusesOf(app, { repository_id, commit_id })
}
