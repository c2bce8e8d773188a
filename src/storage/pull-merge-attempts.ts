import type { Selectable } from 'kysely'

/** Merges that Git was about to be asked for: when the update of the base is recorded, they have happened or not. */
export interface PullMergeAttemptsTable {
  pull_request_id: number
  /** Of the note of the update of the base branch. */
  note_id: number
  merger_id: number
  /** Where head left base before. */
  merge_base: string
  /** What is merged. */
  head_commit: string
  /** What the base branch is to hold. */
  merge_commit: string
  /** Unix seconds. */
  time: number
}

export type PullMergeAttempt = Selectable<PullMergeAttemptsTable>
