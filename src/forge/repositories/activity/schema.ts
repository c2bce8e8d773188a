import type { Generated, Selectable } from 'kysely'

/** Repository events, which watchers receive. The oldest events are pruned first. */
export interface RepositoryEventsTable {
  /** Ascends in the order of commits (`commitInOrder`). Never reused. */
  id: Generated<number>
  repository_id: number
  type:
    | 'REFS_UPDATED'
    | 'RELEASE_DRAFTED'
    | 'RELEASE_PUBLISHED'
    | 'RELEASE_EDITED'
    | 'RELEASE_DELETED'
    | 'BRANCH_PROTECTION_CREATED'
    | 'BRANCH_PROTECTION_EDITED'
    | 'BRANCH_PROTECTION_DELETED'
    | 'BRANCH_PROTECTIONS_REORDERED'
    | 'TAG_PROTECTION_CREATED'
    | 'TAG_PROTECTION_EDITED'
    | 'TAG_PROTECTION_DELETED'
    | 'REPOSITORY_EDITED'
    | 'REPOSITORY_RENAMED'
    | 'REPOSITORY_ARCHIVED'
    | 'REPOSITORY_UNARCHIVED'
    | 'REPOSITORY_TRANSFERRED'
    | 'PULL_REQUEST_OPENED'
    | 'PULL_REQUEST_EDITED'
    | 'PULL_REQUEST_CLOSED'
    | 'PULL_REQUEST_REOPENED'
    | 'PULL_REQUEST_MERGED'
    | 'PULL_REQUEST_RETARGETED'
    | 'PULL_REQUEST_HEAD_MOVED'
    | 'PULL_REQUEST_REVIEW_REQUESTED'
    | 'PULL_REQUEST_REVIEWED'
    | 'PULL_REQUEST_COMMENTED'
    | 'PULL_REQUEST_AUTO_MERGE_SCHEDULED'
    | 'PULL_REQUEST_AUTO_MERGE_CANCELLED'
    | 'COMMIT_STATUS_CREATED'
    | 'MERGEABILITY_CHECKED'
  /**
   * The callers that receive the event: the readers of any feature or of one, the users who can see
   * draft releases, or the administrators of the repository.
   */
  audience: 'any' | 'code' | 'releases' | 'drafts' | 'pulls' | 'administration'
  /** Id of the account that caused the event. Null for the server. */
  actor_id: number | null
  /** Id of the release, protection or pull request. */
  subject_id: number | null
  /**
   * The tag name of a release, or the name or pattern of a protection. For refs, the JSON
   * `{"count", "refs": [[ref, old id, new id]]}`. For a pull request, the JSON `[number, base,
   * head]`. For a status, the JSON `[commit, number, context, state]`.
   */
  subject: string
  /** Unix milliseconds. */
  time: number
}

/** The state of the event log of a repository. A repository without events has no row. */
export interface RepositoryEventLogsTable {
  repository_id: number
  /** Id of the latest event, even if it has been pruned. */
  newest: number
  /** Events with ids up to this one have been pruned; 0 if none has. */
  floor: number
  /** The number of stored events. */
  count: number
}

export type RepositoryEvent = Selectable<RepositoryEventsTable>

export type RepositoryEventLog = Selectable<RepositoryEventLogsTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    repository_event_logs: RepositoryEventLogsTable
    repository_events: RepositoryEventsTable
  }
}

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

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    repository_subscriptions: RepositorySubscriptionsTable
  }
}
