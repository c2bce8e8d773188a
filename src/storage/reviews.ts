import type { Generated, Selectable } from 'kysely'

/** What somebody thinks of a pull request, or is asked to think about it. */
export interface ReviewsTable {
  /** Never given a second time. */
  id: Generated<number>
  pull_request_id: number
  /** Whose it is, or who is asked; null when a team is asked, or the account is gone. */
  reviewer_id: number | null
  /** The team that is asked, or for which the reviewer answers. */
  team_id: number | null
  /** Only its reviewer sees one that is pending, and has one at most. */
  state: 'PENDING' | 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT' | 'REQUEST_REVIEW'
  /** Head of the pull request that it is about. */
  commit_id: string
  /** 0 or 1, as are the next two: whether it counts, as far as that was known when it was made. */
  official: number
  /** Whether something else is proposed since. */
  stale: Generated<number>
  dismissed: Generated<number>
  comments_count: Generated<number>
  /** Unix seconds, as is the next one. When it was submitted. */
  create_time: number
  update_time: number
  /** Markdown. */
  body: string
}

export type Review = Selectable<ReviewsTable>
