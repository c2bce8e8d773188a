import type { Selectable } from 'kysely'

/** Merges that are to happen once everything is ready for them. */
export interface AutoMergesTable {
  pull_request_id: number
  /** By whose rights it will be merged. */
  scheduler_id: number
  /** As the merge was asked for: `merge` or another style. */
  style: string
  /** Of the commit; empty for the default. */
  title: string
  message: string
  /** 0 or 1; null for the default of the repository. */
  delete_branch: number | null
  /** Unix seconds. */
  create_time: number
  /** When to look whether it can happen, in Unix milliseconds; null until something happens that it could depend on. */
  due_time: number | null
}

export type AutoMerge = Selectable<AutoMergesTable>
