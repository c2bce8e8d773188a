import type { Generated, Selectable } from 'kysely'

/** What people say about a pull request as a whole. */
export interface PullCommentsTable {
  /** Never given a second time. */
  id: Generated<number>
  pull_request_id: number
  /** Null when the account is gone. */
  poster_id: number | null
  /** Unix seconds, as is the next one. */
  create_time: number
  update_time: number
  /** Markdown. */
  body: string
}

export type PullComment = Selectable<PullCommentsTable>
