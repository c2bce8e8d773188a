import type { Selectable } from 'kysely'

/** What users want to be told of repositories. Without a row, a user hears of own participation. */
export interface RepositorySubscriptionsTable {
  repository_id: number
  user_id: number
  /** WATCHING: of every pull request. IGNORED: of none. */
  mode: 'WATCHING' | 'IGNORED'
  /** Unix seconds. */
  create_time: number
}

export type RepositorySubscription = Selectable<RepositorySubscriptionsTable>

/** What users want to be told of single pull requests, whatever holds for the repository. */
export interface PullSubscriptionsTable {
  pull_request_id: number
  user_id: number
  /** 0 or 1. With 0, the user only hears of what names the user. */
  subscribed: number
  /** Unix seconds. */
  create_time: number
}
