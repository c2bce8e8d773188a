import type { Generated, Insertable, Selectable } from 'kysely'

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
  /** What `refs/pull/{number}/head` of the base holds, which follows `head_commit`; null before it is made. Git is the truth. */
  head_ref_commit: string | null
  /** What the last check said. It holds only while `checked_base` and `checked_head` are the tips of the branches. */
  mergeability: Generated<Mergeability>
  checked_base: string | null
  checked_head: string | null
  /** Where head left base, as of the last check or the last change; of a merged one as it was when it was merged. Empty without one. */
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
export type NewPullRequest = Insertable<PullRequestsTable>
