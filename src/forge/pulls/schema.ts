import type { Generated, Insertable, Selectable } from 'kysely'
import type { ConversationColumns } from '../conversations/schema.ts'

/** Scheduled merges: each happens once its pull request is ready. */
export interface ScheduledMergesTable {
  pull_request_id: number
  /** The base repository. */
  repository_id: number
  /** The user who scheduled the merge. The merge uses the rights of this user. */
  scheduler_id: number
  /** Scopes of the token that scheduled the merge; null for a credential without scopes. */
  scopes: string | null
  /**
   * UUID of that token; null for another credential. If the token is deleted, the merge is
   * cancelled.
   */
  token_uuid: string | null
  /** Merge style, such as `merge` or `squash`. */
  style: string
  /** Title of the commit; empty for the default. */
  title: string
  message: string
  /** 0 or 1: whether to delete the head branch; null for the default of the repository. */
  delete_branch: number | null
  /** Unix seconds. */
  create_time: number
  /** The same time in Unix milliseconds, for the order in which scheduled merges enter a queue. */
  create_time_ms: Generated<number>
  /** Time of the next readiness check, in Unix milliseconds. */
  due_time: number
  /** Number of wake-ups. A change during a check shows that another check is necessary. */
  wake_count: Generated<number>
}

export type ScheduledMerge = Selectable<ScheduledMergesTable>

/**
 * Work that remains after a merge: listing its commits, deleting the head branch. The row is
 * inserted in the transaction that records the merge.
 */
export interface MergeFollowUpsTable {
  pull_request_id: number
  /** The base repository. */
  repository_id: number
  /** Commit of the base branch before the merge; null if it is not known. */
  base_commit: string | null
  /** 0 or 1: whether `merged_commits` has the commits of the pull request. */
  is_listed: Generated<number>
  /** The user for whom to delete the head branch; null to keep the branch. */
  deleter_id: number | null
  /** Scopes of the token that requested the deletion; null for a credential without scopes. */
  scopes: string | null
  /** UUID of that token; null for another credential. */
  token_uuid: string | null
  /** Number of failed attempts. */
  tries: Generated<number>
  /** Time of the next attempt, in Unix milliseconds. */
  due_time: number
}

/** The commits that merged pull requests added to their base branches. */
export interface MergedCommitsTable {
  repository_id: number
  /** Id of the commit as bytes, which take half the space of the text. */
  commit_id: Buffer
  pull_request_id: number
}

export type MergeFollowUp = Selectable<MergeFollowUpsTable>

/**
 * Merges in progress. The row is written before Git moves the base branch. The record of the ref
 * update decides whether the merge happened.
 */
export interface PullMergeAttemptsTable {
  pull_request_id: number
  /** Id of the pending update of the base branch. */
  pending_update_id: number
  merger_id: number
  /**
   * The branch into which the merge goes, without `refs/heads/`. The base branch of the pull request,
   * unless a queue merges a stack.
   */
  base_branch: string
  /** Commit of that branch before the merge; null if it is not known. */
  base_commit: string | null
  /** Merge base of head and base before the merge. */
  merge_base: string
  /** Head commit that is merged. */
  head_commit: string
  /** Commit that the base branch will have. */
  merge_commit: string
  /** Unix seconds. */
  time: number
  /** 0 or 1: whether to delete the head branch after the merge. */
  delete_head: number
  /**
   * Scopes of the token that requested the deletion of the head branch; null for a credential
   * without scopes.
   */
  scopes: string | null
  /** UUID of that token; null for another credential. */
  token_uuid: string | null
  /** Position among the merges of one update, from 0. */
  position: Generated<number>
}

export type PullMergeAttempt = Selectable<PullMergeAttemptsTable>

/** Merge queues: one for each branch whose rule has or had one. */
export interface MergeQueuesTable {
  id: Generated<number>
  repository_id: number
  /** Without `refs/heads/`. */
  branch: string
  /** Time of the next look at the queue, in Unix milliseconds; null while nothing is expected. */
  due_time: number | null
  /** Number of wake-ups. A change during a look shows that another look is necessary. */
  wake_count: Generated<number>
  /** Since when the deadlines stand still, in Unix milliseconds; null if they do not. */
  pause_time: number | null
}

export type MergeQueue = Selectable<MergeQueuesTable>

/** Groups of entries that are tried together. Those that merged are kept for estimates. */
export interface MergeQueueGroupsTable {
  /** Never reused. */
  number: Generated<number>
  queue_id: number
  repository_id: number
  /** Position in the chain of the queue, from 0. */
  position: number
  /** The number of entries for which the commits were made. */
  size: number
  /** The commit below the first candidate. */
  base_commit: string
  /** The last candidate, which is checked. */
  head_commit: string
  /** The ref that holds the last candidate; null before it exists and after its deletion. */
  ref: string | null
  state: 'BUILDING' | 'READY'
  /** Why the group failed, as JSON, once that is settled: the end of a divided group. */
  failure: string | null
  /** The last status of the last candidate when the group was made. Earlier ones do not count. */
  status_floor: number
  /** The last status when the group became the first. Null before. */
  decide_floor: number | null
  /** Unix milliseconds, like all times of this table. Null before the checks are requested. */
  request_time: number | null
  deadline: number | null
  end_time: number | null
  end_reason: 'merged' | 'dequeued' | 'invalidated' | null
}

export type MergeQueueGroup = Selectable<MergeQueueGroupsTable>

/** Entries of merge queues: the last one of each pull request. */
export interface MergeQueueEntriesTable {
  /** Ascends in the order of entering. */
  id: Generated<number>
  queue_id: number
  pull_request_id: number
  /** The user who added the entry. The merge uses the rights of this user. */
  adder_id: number
  /** As in `ScheduledMergesTable`, like the next five columns. */
  scopes: string | null
  token_uuid: string | null
  style: string
  title: string
  message: string
  delete_branch: number | null
  /** The head of the pull request. Another head ends the entry. */
  head_commit: string
  /** 0 or 1: whether the entry goes before all that do not jump. */
  is_jump: number
  state: MergeQueueEntryState
  /** Null outside a group. */
  group_number: number | null
  /** Position in the group, from 0. */
  position: Generated<number>
  candidate_commit: string | null
  /** Merge base of the head and of the candidate before. */
  merge_base: string | null
  /** The commit on which no candidate could be made. */
  blocked_on: string | null
  /**
   * The pull request on whose head this one stands, which merges before; null for a pull request into
   * the branch of the queue.
   */
  below_id: number | null
  /** Unix milliseconds, like the next column. */
  add_time: number
  /** Null while the entry is in the queue. */
  leave_time: number | null
  /** Why the entry left, as JSON. */
  reason: string | null
}

/** `MERGED`, `FAILED` and `REMOVED` are final. */
export type MergeQueueEntryState = 'QUEUED' | 'BUILDING' | 'READY' | 'MERGED' | 'FAILED' | 'REMOVED'

export type MergeQueueEntry = Selectable<MergeQueueEntriesTable>

export interface PullRequestsTable extends ConversationColumns {
  /** Without `refs/heads/`. */
  base_branch: string
  /** Null if the repository was deleted. */
  head_repository_id: number | null
  /** Without `refs/heads/`. Empty for a pull request that a push opened. */
  head_branch: string
  /**
   * The topic of a pull request that a push to `refs/for/` opened, which has no head branch and no head
   * repository; null for others.
   */
  agit_topic: string | null
  /** Commit of the head branch at its last recorded update while the pull request was open. */
  head_commit: string
  /**
   * Commit of `refs/pull/{number}/head` in the base repository, which follows `head_commit`; null
   * before the ref is created. Git is authoritative.
   */
  head_ref_commit: string | null
  /**
   * Result of the last check for conflicts. Valid only while `checked_base` and `checked_head` are
   * the tips of the branches.
   */
  mergeability: Generated<Mergeability>
  checked_base: string | null
  checked_head: string | null
  /**
   * Merge base of head and base at the last check or change, or at the merge. Empty if there is
   * none.
   */
  merge_base: Generated<string>
  /** The three numbers below are those of the difference between these two commits. */
  counted_base: string | null
  counted_head: string | null
  /** Number of added lines. */
  additions: Generated<number>
  /** Number of deleted lines. */
  deletions: Generated<number>
  changed_files: Generated<number>
  /** Null unless the pull request is merged, like the next two columns. */
  merge_commit: string | null
  /** Null also if the account was deleted. */
  merger_id: number | null
  /** Unix seconds, like all times of this table. */
  merge_time: number | null
  /** 0 or 1: whether users with write access to the base may push to the head. */
  allow_maintainer_edit: number
  review_comment_count: Generated<number>
}

/** What a merge would do: `CHECKING` while that is not known. */
export type Mergeability = 'CHECKING' | 'MERGEABLE' | 'CONFLICT' | 'ERROR' | 'EMPTY' | 'ANCESTOR'

export type PullRequest = Selectable<PullRequestsTable>

/** The number is assigned when the pull request is stored. */
export type NewPullRequest = Omit<Insertable<PullRequestsTable>, 'id' | 'number'>

/** The columns that may change. */
export type PullRequestChanges = Partial<
  Omit<
    PullRequest,
    | 'id'
    | 'repository_id'
    | 'number'
    | 'create_time'
    | 'comment_count'
    | 'change_count'
    | 'update_time'
  >
>

/** Comments of reviews on lines. */
export interface ReviewCommentsTable {
  /** Never reused. */
  id: Generated<number>
  review_id: number
  /** Null if the account was deleted. */
  poster_id: number | null
  /** The user who marked the comment as resolved; null while it is open. */
  resolver_id: number | null
  path: string
  /** Whether `line` is a line of the base (`old`) or of the head (`new`). */
  side: 'old' | 'new'
  /** Number of the line, from 1; 0 for the file as a whole. */
  line: number
  /** The latest head that has the line unchanged. */
  commit_id: string
  /** The head at the time of the comment. */
  original_commit_id: string
  /** Unix seconds, like the next column. */
  create_time: number
  update_time: number
  /** The part of the diff around the line. */
  diff_hunk: string
  /** Login, full name and id of an author at another server; empty and 0 for others. */
  original_author: Generated<string>
  original_name: Generated<string>
  original_author_id: Generated<number>
  /** Markdown. */
  body: string
}

export type ReviewComment = Selectable<ReviewCommentsTable>

export type NewReviewComment = Insertable<ReviewCommentsTable>

/** Reviews, and review requests. */
export interface ReviewsTable {
  /** Never reused. */
  id: Generated<number>
  pull_request_id: number
  /** The author, or the requested user; null if a team is requested or the account was deleted. */
  reviewer_id: number | null
  /** The requested team; null for a user. */
  team_id: number | null
  /** Only the reviewer sees a `PENDING` review, and has at most one for a pull request. */
  state: 'PENDING' | 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT' | 'REQUEST_REVIEW'
  /** The reviewed head of the pull request. */
  commit_id: string
  /** Merge base of that head and the base; empty if it is not known. */
  merge_base: Generated<string>
  /**
   * 0 or 1, like the next column and `dismissed`: whether the review counted when it was submitted.
   */
  official: number
  /** Whether `compared_head` proposes another change than the reviewed head. */
  stale: Generated<number>
  /** Head at the last staleness check; empty before the first one. */
  compared_head: string
  /** Merge base of that head and the base at that check; empty if there was none. */
  compared_base: Generated<string>
  dismissed: Generated<number>
  /** Maintained by triggers on `review_comments`. */
  comments_count: Generated<number>
  /** Time of the submission in Unix seconds, like the next column. */
  create_time: number
  update_time: number
  /** Reason of the dismissal. */
  dismissal_message: Generated<string>
  /** Login, full name and id of an author at another server; empty and 0 for others. */
  original_author: Generated<string>
  original_name: Generated<string>
  original_author_id: Generated<number>
  /** Markdown. */
  body: string
}

export type Review = Selectable<ReviewsTable>

export type NewReview = Insertable<ReviewsTable>

export type ReviewChanges = Partial<
  Omit<Review, 'id' | 'pull_request_id' | 'reviewer_id' | 'team_id' | 'comments_count'>
>

/** Edits of comments of reviews, with the texts before. */
interface ReviewCommentEditsTable {
  /** Never reused. */
  id: Generated<number>
  comment_id: number
  /** Who changed the text; null if the account was deleted. */
  editor_id: number | null
  /** Markdown: the text before the edit. */
  body: string
  /** Unix seconds. */
  create_time: number
}

export type ReviewCommentEdit = Selectable<ReviewCommentEditsTable>

/** Files of pull requests that users have viewed. */
interface ViewedFilesTable {
  pull_request_id: number
  user_id: number
  /** SHA-256 of the path in hexadecimal. */
  path_hash: string
  path: string
  /** Mode and id of the blob that the user has seen; empty for a deleted file. */
  version: string
}

export type ViewedFile = Selectable<ViewedFilesTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    auto_merges: ScheduledMergesTable
    merge_queues: MergeQueuesTable
    merge_queue_groups: MergeQueueGroupsTable
    merge_queue_entries: MergeQueueEntriesTable
    pull_merge_attempts: PullMergeAttemptsTable
    merge_follow_ups: MergeFollowUpsTable
    merged_commits: MergedCommitsTable
    issues: PullRequestsTable
    review_comments: ReviewCommentsTable
    review_comment_edits: ReviewCommentEditsTable
    reviews: ReviewsTable
    viewed_files: ViewedFilesTable
  }
}
