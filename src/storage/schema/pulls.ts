import type { Generated, Insertable, Selectable } from 'kysely'

/** Merges that are to happen once everything is ready for them. */
export interface AutoMergesTable {
  pull_request_id: number
  /** Of the base. */
  repository_id: number
  /** By whose rights it will be merged. */
  scheduler_id: number
  /** Of the token that it was ordered with; null for a credential that is not limited. */
  scopes: string | null
  /**
   * Of that token; null for another credential. The token may have gone: then nobody stands behind
   * the order any more.
   */
  token_uuid: string | null
  /** As the merge was asked for: `merge` or another style. */
  style: string
  /** Of the commit; empty for the default. */
  title: string
  message: string
  /** 0 or 1; null for the default of the repository. */
  delete_branch: number | null
  /** Unix seconds. */
  create_time: number
  /** When to look whether it can happen, in Unix milliseconds. */
  due_time: number
  /** How often it was made due: who has looked knows by it whether to look once more. */
  wake_count: Generated<number>
}

export type AutoMerge = Selectable<AutoMergesTable>

/**
 * What is still to be done for pull requests that were merged, written in the transactions in which
 * they became that.
 */
export interface MergeFollowUpsTable {
  pull_request_id: number
  /** Of the base. */
  repository_id: number
  /** What the base branch held before; null where that is not known. */
  base_commit: string | null
  /** 0 or 1: whether `merged_commits` has its commits. */
  is_listed: Generated<number>
  /** Who wants the head branch deleted; null for nobody. */
  deleter_id: number | null
  /** Of the token by which that was asked for; null for a credential that is not limited. */
  scopes: string | null
  /** Of that token. */
  token_uuid: string | null
  /** How often it has failed. */
  tries: Generated<number>
  /** When to do it, in Unix milliseconds. */
  due_time: number
}

/** The commits that merged pull requests have brought. */
export interface MergedCommitsTable {
  repository_id: number
  /** Id of the commit, as bytes: half of what its text takes. */
  commit_id: Buffer
  pull_request_id: number
}

export type MergeFollowUp = Selectable<MergeFollowUpsTable>

/** What people say about a pull request as a whole. */
export interface PullCommentsTable {
  /** Never given a second time. */
  id: Generated<number>
  pull_request_id: number
  /** Of the pull request. */
  repository_id: number
  /** Null when the account is gone. */
  poster_id: number | null
  /** Unix seconds, as is the next one. */
  create_time: number
  update_time: number
  /** Markdown. */
  body: string
}

export type PullComment = Selectable<PullCommentsTable>

/** Which pull requests wait for which others of the same repository. */
export interface PullDependenciesTable {
  pull_request_id: number
  depends_on_id: number
}

/**
 * Merges that Git was about to be asked for: when the update of the base is recorded, they have
 * happened or not.
 */
export interface PullMergeAttemptsTable {
  pull_request_id: number
  /** Of the note of the update of the base branch. */
  note_id: number
  merger_id: number
  /** What the base branch held before; null where that is not known. */
  base_commit: string | null
  /** Where head left base before. */
  merge_base: string
  /** What is merged. */
  head_commit: string
  /** What the base branch is to hold. */
  merge_commit: string
  /** Unix seconds. */
  time: number
  /** 0 or 1: whether who merges wants the head branch deleted after that. */
  delete_head: number
  /**
   * As the next one for a deletion: of the token by which it was asked for; null for a credential
   * that is not limited.
   */
  scopes: string | null
  token_uuid: string | null
}

export type PullMergeAttempt = Selectable<PullMergeAttemptsTable>

/**
 * What messages to webhooks are about that tell of pull requests as these are when they are sent.
 * Goes with its message.
 */
export interface PullMessagesTable {
  message_id: number
  /** There may be none by that id any more, as with the next one. */
  pull_request_id: number
  /** Who did it; null for the server. */
  actor_id: number | null
}

export type PullMessage = Selectable<PullMessagesTable>

/** Who has a part in a pull request, and what they have seen of it. */
export interface PullParticipantsTable {
  pull_request_id: number
  user_id: number
  /** `change_count` of the pull request when they last looked. */
  seen: number
}

/** Reactions to pull requests and to comments. */
export interface PullReactionsTable {
  id: Generated<number>
  pull_request_id: number
  /** Null for a reaction to the pull request itself. */
  comment_id: number | null
  user_id: number
  /** Such as `+1` or `heart`. */
  content: string
  /** Unix seconds. */
  create_time: number
}

export type PullReaction = Selectable<PullReactionsTable>

export type NewPullReaction = Insertable<PullReactionsTable>

/** What happened to pull requests. Comments and reviews have tables of their own. */
export interface PullTimelineTable {
  id: Generated<number>
  pull_request_id: number
  /** As in compatible systems. */
  type:
    | 'close'
    | 'reopen'
    | 'merge_pull'
    | 'pull_push'
    | 'pull_scheduled_merge'
    | 'pull_cancel_scheduled_merge'
    | 'change_title'
    | 'change_target_branch'
    | 'label'
    | 'milestone'
    | 'assignees'
    | 'review_request'
    | 'dismiss_review'
    | 'added_deadline'
    | 'modified_deadline'
    | 'removed_deadline'
    | 'lock'
    | 'unlock'
  /** Null for the server, or when the account is gone. */
  actor_id: number | null
  /** Unix seconds. */
  create_time: number
  /**
   * The former title or base branch; the id of the former milestone, or of the label or user that
   * was removed, with `team:` before that of a team; the id of the review that was dismissed; the
   * former due date in Unix seconds; empty for other types.
   */
  old_value: string
  /**
   * The new title or base branch, the commit of a merge or of a push, the reason of a lock or of a
   * dismissal; the id of the new milestone, or of what was added, as above; the new due date in Unix
   * seconds; empty for other types.
   */
  new_value: string
}

export type NewTimelineEntry = Insertable<PullTimelineTable>

export interface PullRequestsTable {
  /** Never given a second time. */
  id: Generated<number>
  /** Of the base. */
  repository_id: number
  /** Within the repository, from 1; never given a second time. */
  number: number
  /** Null when the account is gone. */
  poster_id: number | null
  title: string
  /** How often the body has changed. */
  content_version: Generated<number>
  state: 'OPEN' | 'CLOSED' | 'MERGED'
  /** Without `refs/heads/`. */
  base_branch: string
  /** Null when it is gone. */
  head_repository_id: number | null
  /** Without `refs/heads/`. */
  head_branch: string
  /** What the head branch held when its refs were last recorded while this was open. */
  head_commit: string
  /**
   * What `refs/pull/{number}/head` of the base holds, which follows `head_commit`; null before it
   * is made. Git is the truth.
   */
  head_ref_commit: string | null
  /**
   * What the last check said. It holds only while `checked_base` and `checked_head` are the tips of
   * the branches.
   */
  mergeability: Generated<Mergeability>
  checked_base: string | null
  checked_head: string | null
  /**
   * Where head left base, as of the last check or the last change; of a merged one as it was when
   * it was merged. Empty without one.
   */
  merge_base: Generated<string>
  /** Commits between which the three numbers below were counted. */
  counted_base: string | null
  counted_head: string | null
  /** Lines. */
  additions: Generated<number>
  deletions: Generated<number>
  changed_files: Generated<number>
  /** Null while it is not merged, as are the next two. */
  merge_commit: string | null
  /** Null when the account is gone, too. */
  merger_id: number | null
  /** Unix seconds, as are all times. */
  merge_time: number | null
  milestone_id: number | null
  due_time: number | null
  /** 0 or 1. */
  allow_maintainer_edit: number
  /** Kept by triggers on `pull_comments`. */
  comment_count: Generated<number>
  review_comment_count: Generated<number>
  /** Goes up with every change that a participant would want to see. */
  change_count: Generated<number>
  create_time: number
  update_time: number
  /** Null while it is open. */
  close_time: number | null
  /** Why only those with write access may add to the conversation; null while it is not locked. */
  lock_reason: Generated<string | null>
  /** Markdown. */
  body: string
}

/** What becomes of a pull request when it is merged. */
export type Mergeability = 'CHECKING' | 'MERGEABLE' | 'CONFLICT' | 'ERROR' | 'EMPTY' | 'ANCESTOR'

export interface PullRequestLabelsTable {
  pull_request_id: number
  /** Of the repository, or of the organisation that owns it. */
  label_id: number
}

export interface PullRequestAssigneesTable {
  pull_request_id: number
  user_id: number
}

export type PullRequest = Selectable<PullRequestsTable>

/** Its number is given when it is stored. */
export type NewPullRequest = Omit<Insertable<PullRequestsTable>, 'id' | 'number'>

/** What may change of a pull request. */
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

/** What a review says about lines. */
export interface ReviewCommentsTable {
  /** Never given a second time. */
  id: Generated<number>
  review_id: number
  /** Null when the account is gone. */
  poster_id: number | null
  /** Who said that it is dealt with; null while nobody has. */
  resolver_id: number | null
  path: string
  /** Whether `line` counts in the file of the base or of the head. */
  side: 'old' | 'new'
  /** From 1; 0 for the file as a whole. */
  line: number
  /** Head that the line is in now. */
  commit_id: string
  /** Head that it was made about. */
  original_commit_id: string
  /** Unix seconds, as is the next one. */
  create_time: number
  update_time: number
  /** The part of the diff that it is about. */
  diff_hunk: string
  /** Markdown. */
  body: string
}

export type ReviewComment = Selectable<ReviewCommentsTable>

export type NewReviewComment = Insertable<ReviewCommentsTable>

/** What somebody thinks of a pull request, or is asked to think about it. */
export interface ReviewsTable {
  /** Never given a second time. */
  id: Generated<number>
  pull_request_id: number
  /** Whose it is, or who is asked; null when a team is asked, or the account is gone. */
  reviewer_id: number | null
  /** The team that is asked. */
  team_id: number | null
  /** Only its reviewer sees one that is pending, and has one at most. */
  state: 'PENDING' | 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT' | 'REQUEST_REVIEW'
  /** Head of the pull request that it is about. */
  commit_id: string
  /** Where that left the base; empty where it is not known. */
  merge_base: Generated<string>
  /**
   * 0 or 1, as are the next one and `dismissed`: whether it counts, as far as that was known when
   * it was made.
   */
  official: number
  /** Whether something else is proposed since, as of `compared_head`. */
  stale: Generated<number>
  /**
   * The head with which what was reviewed was last compared, on the present base; empty for none.
   */
  compared_head: string
  /** Where that head left the base then; empty where it did not. */
  compared_base: Generated<string>
  dismissed: Generated<number>
  /** Kept by triggers on `review_comments`. */
  comments_count: Generated<number>
  /** Unix seconds, as is the next one. When it was submitted. */
  create_time: number
  update_time: number
  /** Why it was dismissed. */
  dismissal_message: Generated<string>
  /** Markdown. */
  body: string
}

export type Review = Selectable<ReviewsTable>

export type NewReview = Insertable<ReviewsTable>

export type ReviewChanges = Partial<
  Omit<Review, 'id' | 'pull_request_id' | 'reviewer_id' | 'team_id' | 'comments_count'>
>
