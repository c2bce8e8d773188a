import type { Generated, Selectable } from 'kysely'

/** What happened to a repository, for those who watch. Rows come and go oldest first. */
export interface RepositoryEventsTable {
  /** Ascends in the order of commits: SQLite has one writer. Never given twice. */
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
  /**
   * Who may know of it: whoever reads a part or any, whoever sees drafts of releases,
   * administrators of the repository.
   */
  audience: 'any' | 'code' | 'releases' | 'drafts' | 'pulls' | 'administration'
  /** Account of who did it. Null for the server. */
  actor_id: number | null
  /** Id of the release, rule or pull request. */
  subject_id: number | null
  /**
   * Tag of the release, name or pattern of the rule; of refs `{"count", "refs": [[ref, old id, new
   * id]]}` and of a pull request `[number, base, head]`, as JSON.
   */
  subject: string
  /** Unix milliseconds. */
  time: number
}

/** What is known of the events of a repository as a whole. It has no row before its first event. */
export interface RepositoryEventLogsTable {
  repository_id: number
  /** Id of its latest event, also once that is forgotten. */
  newest: number
  /** Events with ids up to this one have been forgotten; 0 when none has. */
  floor: number
  /** How many of its events are stored. */
  count: number
}

export type RepositoryEvent = Selectable<RepositoryEventsTable>

export type RepositoryEventLog = Selectable<RepositoryEventLogsTable>
