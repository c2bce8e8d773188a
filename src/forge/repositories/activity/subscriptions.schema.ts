import type { Selectable } from 'kysely'

/** Subscriptions of users to repositories. Default: notified when participating. */
export interface RepositorySubscriptionsTable {
  repository_id: number
  user_id: number
  /** WATCHING: notified of every pull request. IGNORED: notified of none. */
  mode: 'WATCHING' | 'IGNORED'
  /** Unix seconds. */
  create_time: number
}

export type RepositorySubscription = Selectable<RepositorySubscriptionsTable>

/** Subscriptions to single pull requests, which take precedence over those to the repository. */
export interface PullSubscriptionsTable {
  pull_request_id: number
  user_id: number
  /** 0 or 1. With 0, the user is notified only of mentions, assignments and review requests. */
  subscribed: number
  /** Unix seconds. */
  create_time: number
}

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    pull_subscriptions: PullSubscriptionsTable
    repository_subscriptions: RepositorySubscriptionsTable
  }
}
