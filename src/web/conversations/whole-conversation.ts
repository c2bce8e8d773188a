import type { CommitStatus } from '#gen/branchline/v1/commit_status_pb.ts'
import {
  type Conversation,
  ConversationService,
} from '#gen/branchline/v1/conversation_service_pb.ts'
import type { IssueComment, TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { ConversationReaction } from '#gen/branchline/v1/reaction_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { loadScript } from '../api/scripts.ts'
import { type Loaded, useLoad } from '../components/load.tsx'
import { type PullName, type ReviewWithThreads, withThreads } from '../pulls/reviews.ts'

/** An issue or pull request with its repository and what was said about it. */
export interface WholeConversation {
  readonly repository: Repository
  /** Undefined for a pull request. */
  readonly issue: Issue | undefined
  /** Undefined for an issue. */
  readonly pull: PullRequest | undefined
  /** Oldest first, as the other lists. */
  readonly comments: readonly IssueComment[]
  readonly events: readonly TimelineComment[]
  readonly reviews: readonly ReviewWithThreads[]
  readonly reactions: readonly ConversationReaction[]
  /** The latest statuses of the head of a pull request. */
  readonly statuses: readonly CommitStatus[]
  /** The position in the events of the repository before all this was read. */
  readonly cursor: string
}

/** Loads a conversation in one round trip, as long as its lists are short. */
export function useConversation(name: PullName): Loaded<WholeConversation> {
  const api = useApi()
  return useLoad((signal) => readConversation(api, name, signal), [])
}

async function readConversation(
  api: Api,
  name: PullName,
  signal: AbortSignal,
): Promise<WholeConversation> {
  const first = await api.of(ConversationService).getConversation(name, { signal })
  const { repository, issue, pullRequest: pull, reactions, statuses, eventCursor: cursor } = first
  if (!repository) throw new Error('the server has answered without the repository')
  const all = isWhole(first)
    ? first
    : await (await loadScript(() => import('./further-entries.ts'))).withFurtherEntries(
        api,
        name,
        first,
        signal,
      )
  const { comments, events, reviews, reviewComments } = all
  return {
    ...{ repository, issue, pull, comments, events, reactions, statuses, cursor },
    reviews: withThreads(reviews, reviewComments),
  }
}

/** Returns whether the lists of a conversation have all their entries. */
function isWhole(first: Conversation): boolean {
  const { commentsTotal, timelineTotal, reviewsTotal, limit } = first
  const said = first.reviews.reduce((sum, { commentsCount }) => sum + commentsCount, 0n)
  return (
    [commentsTotal, timelineTotal, reviewsTotal].every((total) => total <= limit) &&
    said <= first.reviewComments.length
  )
}
