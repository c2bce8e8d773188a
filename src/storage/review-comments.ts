import type { Generated, Selectable } from 'kysely'

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
