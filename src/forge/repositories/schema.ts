import type { Generated, Insertable, Selectable } from 'kysely'
import type { MergeStyle } from '../core/schema.ts'

/** Users with access to one repository, beside its owner and teams. */
interface CollaboratorsTable {
  repository_id: number
  user_id: number
  level: 'read' | 'write' | 'admin'
}

export type Collaborator = Selectable<CollaboratorsTable>

/** The statuses of commits. Rows never change. */
interface CommitStatusesTable {
  repository_id: number
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Number among the statuses of the commit. Starts at 1 and rises. */
  number: number
  context: string
  state: 'pending' | 'success' | 'error' | 'failure' | 'warning' | 'skipped'
  target_url: string
  description: string
  /** Id of an account, which may be deleted. Ids are never reused. */
  creator_id: number
  /** Unix seconds. */
  create_time: number
}

/**
 * The latest status of each context of a commit. The combined status is computed from these rows,
 * so that its cost does not depend on the number of earlier statuses.
 */
interface CommitStatusContextsTable {
  repository_id: number
  commit_id: string
  context: string
  /** Copied from the status. */
  number: number
  /** Copied from the status. */
  state: CommitStatusesTable['state']
}

export type CommitStatus = Selectable<CommitStatusesTable>

export type NewCommitStatus = Omit<CommitStatus, 'number'>

export interface DeployKeysTable {
  id: Generated<number>
  repository_id: number
  /**
   * Row of `public_keys`, which other repositories may share. It is deleted with its last deploy
   * key.
   */
  key_id: number
  title: string
  /** Key type, base64 and comment, as in an `authorized_keys` file. */
  line: string
  /** 0 or 1. */
  read_only: number
  /** Unix seconds. */
  create_time: number
  /** Unix seconds of the last Git session, exact to a minute. Null before the first one. */
  last_used_time: number | null
}

/** A deploy key, with the fingerprint of its public key. */
export type DeployKey = Selectable<DeployKeysTable> & { readonly fingerprint: string }

/**
 * Git hooks. They are stored in the database so that backups include them, forks do not, and no
 * script can modify a hook that another push runs.
 */
interface GitHooksTable {
  repository_id: number
  /** Name of the hook, as in githooks(5). */
  name: string
  /** Never empty. A hook without a script has no row. */
  content: string
  /** Unix seconds. */
  update_time: number
}

export type GitHook = Selectable<GitHooksTable>

/** The maintenance of repositories. A repository that never needed any may have no row. */
export interface RepositoryMaintenanceTable {
  repository_id: number
  /** Time when the worker looks at the repository, in Unix milliseconds; null for no time. */
  check_time: number | null
  /** Names of steps that somebody has requested, separated by commas. */
  requested: Generated<string>
  /** Time of the latest request by somebody who is no administrator of the instance, in Unix seconds. */
  request_time: number | null
  /** The latest run of each step, as JSON (`maintenance/step-reports.ts`). */
  steps: Generated<string>
  /** Time when the latest step ended, in Unix milliseconds; 0 before the first one. */
  step_time: Generated<number>
  /** Time since when the disk has no room for a step, in Unix milliseconds; null if it has. */
  waiting_time: number | null
  /** Failed steps since the last success. */
  failures: Generated<number>
  /** Why the latest step failed or cannot start; empty if it succeeded. */
  error: Generated<string>
  /** Time until which no step runs by itself after failures, in Unix milliseconds; null for none. */
  pause_time: number | null
  /**
   * Time until which an update of refs may need objects that a prune has removed since the update
   * began, in Unix milliseconds; null if there was no prune.
   */
  removal_until: number | null
}

export type RepositoryMaintenance = Selectable<RepositoryMaintenanceTable>
export type MaintenanceChanges = Partial<Omit<RepositoryMaintenance, 'repository_id'>>

/** Repositories that mirror a remote one. */
interface MirrorsTable {
  repository_id: number
  /** HTTP or HTTPS URL of the remote, without credentials. */
  url: string
  /** Encrypted user name and password for the remote; null without credentials. */
  credentials: Buffer | null
  /** Time between synchronisations; 0 for synchronisation on request only. */
  interval_seconds: number
  /** 0 or 1: whether refs that the remote deleted are deleted here. */
  prune: number
  /** 0 or 1: whether the objects of Git LFS come along. */
  lfs: number
  /** Encrypted address of the Git LFS of the remote; null for that of the repository. */
  lfs_endpoint: Buffer | null
  /**
   * Time of the next synchronisation in Unix milliseconds; null for synchronisation on request
   * only.
   */
  next_sync_time: number | null
  /** Time of the latest successful synchronisation in Unix seconds; null before the first one. */
  last_sync_time: number | null
  /**
   * Time of the latest synchronisation that changed a ref, in Unix seconds; null before the first
   * one.
   */
  change_time: number | null
  /** Error of the latest synchronisation; empty if it succeeded. */
  error: string
}

export type Mirror = Selectable<MirrorsTable>

/** Repositories on other servers that follow a repository here. */
interface PushMirrorsTable {
  id: Generated<number>
  repository_id: number
  /** Identifies the mirror among those of the repository, in the API. */
  remote_name: string
  /** HTTP or HTTPS URL of the remote, without credentials. */
  url: string
  /** Encrypted user name and password for the remote; null without credentials. */
  credentials: Buffer | null
  /** Time between pushes; 0 for pushes on request and after changes only. */
  interval_seconds: number
  /** 0 or 1: whether each change of a ref is pushed. */
  sync_on_commit: number
  /** Time of the next push in Unix milliseconds; null for none. */
  next_sync_time: number | null
  /** Time of the latest successful push in Unix seconds; null before the first one. */
  last_sync_time: number | null
  /** Error of the latest push; empty if it succeeded. */
  error: string
  /** Unix seconds. */
  create_time: number
}

export type PushMirror = Selectable<PushMirrorsTable>
export type NewPushMirror = Insertable<PushMirrorsTable>

/** The settings of a mirror that can change. */
export type MirrorChanges = Partial<Pick<Mirror, 'interval_seconds' | 'prune' | 'next_sync_time'>>

interface RepositoriesTable {
  /** Names the folder of the Git repository. Never reused. */
  id: Generated<number>
  /** Id of a user or organisation. */
  owner_id: number
  name: string
  /** The name in lower case, for comparison. */
  name_key: string
  description: string
  website: string
  /** 0 or 1. */
  private: number
  /** Unix seconds; null unless the repository is archived. */
  archive_time: number | null
  /**
   * Branch name without `refs/heads/`. A copy of HEAD of the Git repository, which is
   * authoritative.
   */
  default_branch: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /**
   * The repository that this one was forked from; null if it is no fork or the parent was deleted.
   * An owner has at most one fork of a repository.
   */
  parent_id: Generated<number | null>
  /** 0 or 1: whether the import of a project runs, which has a row in `project_imports`. */
  importing: Generated<number>
  /** 0 or 1: whether the repository is a mirror, which has a row in `mirrors`. */
  mirror: Generated<number>
  /**
   * URL that the repository was imported from, without credentials; empty if it was not imported.
   */
  original_url: Generated<string>
  /** 0 or 1, as are all numeric settings below. */
  template: Generated<number>
  /** Features that can be disabled. */
  has_issues: Generated<number>
  /** 0 or 1: whether issues and pull requests may wait for others. */
  has_dependencies: Generated<number>
  /** 0 or 1: whether closing words of commits and merges act in every branch. */
  close_issues_in_any_branch: Generated<number>
  /** 0 or 1: whether locks of Git LFS bind changes by others. */
  lfs_locks_enforced: Generated<number>
  /** Who opens issues and comments on them. */
  issue_access: Generated<IssueAccess>
  has_pull_requests: Generated<number>
  has_releases: Generated<number>
  ignore_whitespace_conflicts: Generated<number>
  allow_merge_commits: Generated<number>
  allow_rebase: Generated<number>
  allow_rebase_explicit: Generated<number>
  allow_squash_merge: Generated<number>
  allow_fast_forward_only_merge: Generated<number>
  allow_merge_update: Generated<number>
  allow_rebase_update: Generated<number>
  allow_manual_merge: Generated<number>
  autodetect_manual_merge: Generated<number>
  default_delete_branch_after_merge: Generated<number>
  default_allow_maintainer_edit: Generated<number>
  /** Whether a merge that deletes its head branch rebases the pull requests stacked on it. */
  rebase_stacks: Generated<number>
  default_merge_style: Generated<MergeStyle>
  default_update_style: Generated<UpdateStyle>
  /** Default base branch of pull requests; empty for the default branch. */
  default_target_branch: Generated<string>
  /** Size of the folder on disk at the latest measurement. */
  size_kib: Generated<number>
  /**
   * Bytes of the files of objects that the owner pays for: a file that forks share by links counts in
   * parts. Measured, and raised by pushes before that.
   */
  owned_bytes: Generated<number>
  /** The part of `owned_bytes` that is in no pack, at the latest measurement. */
  loose_bytes: Generated<number>
  /** Objects of Git LFS. Maintained by triggers on `lfs_objects`. */
  lfs_bytes: Generated<number>
  /** Files of releases. Maintained by triggers, like the next column. */
  release_bytes: Generated<number>
  /** Attachments of issues, pull requests and comments. */
  attachment_bytes: Generated<number>
  /**
   * 0 if `owned_bytes` includes all pushes; 1 if the repository must be measured before it is compared
   * with a quota; 2 if it has not been measured since the migration.
   */
  size_stale: Generated<number>
  /** Maintained by triggers on `branches`. */
  branch_count: Generated<number>
  /** Maintained by triggers on `parent_id`. */
  forks_count: Generated<number>
  /** Maintained by triggers on `repository_subscriptions`. */
  watchers_count: Generated<number>
  /** Maintained by triggers on `issues`, like the next column. */
  open_pulls_count: Generated<number>
  pulls_count: Generated<number>
  issues_count: Generated<number>
  open_issues_count: Generated<number>
  /** Maintained by triggers on `issue_comments`. */
  comments_count: Generated<number>
  /** The highest pull request number used so far. Numbers are never reused. */
  last_issue_number: Generated<number>
  releases_count: Generated<number>
  /** Maintained by triggers on `stars`. */
  stars_count: Generated<number>
}

/** Those with write access; also those who have contributed; or all who may read issues. */
export type IssueAccess = 'collaborators' | 'contributors' | 'everyone'

/** The ways to update the head of a pull request with its base branch. */
export type UpdateStyle = 'merge' | 'rebase'

/** Former names of repositories. */
interface RepositoryRedirectsTable {
  owner_id: number
  name_key: string
  repository_id: number
}

export type Repository = Selectable<RepositoriesTable>

export type NewRepository = Insertable<RepositoriesTable>

/** The fields of a repository that can change, beside its name and owner. */
export type RepositoryChanges = Partial<
  Omit<
    Repository,
    | 'id'
    | 'owner_id'
    | 'name'
    | 'name_key'
    | 'create_time'
    | 'branch_count'
    | 'lfs_bytes'
    | 'forks_count'
    | 'comments_count'
    | 'stars_count'
    | 'watchers_count'
  >
>

/** Pending transfers of repositories to another owner. */
interface RepositoryTransfersTable {
  repository_id: number
  /** The user who started the transfer. */
  doer_id: number
  /** The proposed owner. */
  recipient_id: number
  /**
   * 0 or 1: whether the transfer made the recipient a collaborator so that the recipient can read
   * the repository. A transfer that is rejected or cancelled removes that collaborator again.
   */
  made_reader: number
  /** Unix seconds. */
  create_time: number
}

export type RepositoryTransfer = Selectable<RepositoryTransfersTable>

/** The number of repositories, which is the sum of the shards. Maintained by triggers. */
interface RepositoryCountsTable {
  /** 0 for the public repositories, 1 for the private ones. */
  private: 0 | 1
  /** The number of a connection of PostgreSQL, whose count may be negative; 0 on SQLite. */
  shard: Generated<number>
  count: number
}

/** All ends of the names of repositories, for searches. Maintained by triggers. */
interface RepositoryNameEndsTable {
  /** The name, folded for comparison, from one of its characters on. */
  name_end: string
  repository_id: number
}

/** Repositories that users have starred. */
export interface StarsTable {
  user_id: number
  repository_id: number
  /** Unix seconds. */
  create_time: number
}

/** Topics. A row exists while at least one repository has the topic. */
interface TopicsTable {
  /** Never reused. */
  id: Generated<number>
  name: string
  /** The number of public repositories with the topic. Maintained by triggers. */
  public_count: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** Time when the topic was last added to a repository, in Unix seconds. */
  update_time: number
}

interface RepositoryTopicsTable {
  repository_id: number
  topic_id: number
  /** 0 or 1: whether the repository is public. Maintained by triggers. */
  is_public: Generated<number>
}

export type Topic = Selectable<TopicsTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    collaborators: CollaboratorsTable
    commit_status_contexts: CommitStatusContextsTable
    commit_statuses: CommitStatusesTable
    deploy_keys: DeployKeysTable
    git_hooks: GitHooksTable
    mirrors: MirrorsTable
    push_mirrors: PushMirrorsTable
    repositories: RepositoriesTable
    repository_counts: RepositoryCountsTable
    repository_maintenance: RepositoryMaintenanceTable
    repository_name_ends: RepositoryNameEndsTable
    repository_redirects: RepositoryRedirectsTable
    repository_topics: RepositoryTopicsTable
    repository_transfers: RepositoryTransfersTable
    stars: StarsTable
    topics: TopicsTable
  }
}

/** Renamed branches. */
interface BranchRenamesTable {
  repository_id: number
  /** Without `refs/heads/`, like the new name. */
  old_name: string
  new_name: string
  /** Id of the pending update that renames the branch; null once the branch has been renamed. */
  pending_update_id: number | null
}

export type BranchRename = Selectable<BranchRenamesTable>

/**
 * An index of the branches of a repository, which lists read instead of Git. Git is authoritative.
 */
interface BranchesTable {
  repository_id: number
  /** Without `refs/heads/`. */
  name: string
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Committer date of the commit in Unix seconds. */
  commit_time: number
}

/**
 * Ref updates in progress. A row that remains after a crash means that the index of refs must be
 * reconciled with Git.
 */
export interface PendingRefUpdatesTable {
  id: Generated<number>
  repository_id: number
  /** Unix seconds. */
  create_time: Generated<number>
  /** The server that works on the update, if several share the database. */
  server_id: number | null
  /**
   * The account that moves refs; null for the server itself. Without `targets`: the account that
   * creates the repository, until its webhook messages are queued.
   */
  pusher_id: number | null
  /** JSON: the refs that the account moves, each with its new object, empty for a deletion. */
  targets: string | null
  /** Bytes that the update may add to the repository, if quotas limit them. */
  reserved_bytes: Generated<number>
}

export type Branch = Selectable<BranchesTable>

export type PendingRefUpdate = Selectable<PendingRefUpdatesTable>

/** An index of the tags of a repository, which lists read instead of Git. Git is authoritative. */
interface TagsTable {
  repository_id: number
  /** Without `refs/tags/`. */
  name: string
  /**
   * 40 hexadecimal digits: the id of the tag object of an annotated tag, else of the object that
   * the tag points to.
   */
  object_id: string
  /** 0 or 1. */
  annotated: number
  /**
   * Id of the commit that the tag points to, directly or through tag objects; null if it points to
   * another object.
   */
  commit_id: string | null
  /** Date of the tagger or, without one, of the committer, in Unix seconds. */
  time: number
  /** Message of the tag object or the commit, without a signature. */
  message: string
}

export type Tag = Selectable<TagsTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    branch_renames: BranchRenamesTable
    branches: BranchesTable
    pending_ref_updates: PendingRefUpdatesTable
    tags: TagsTable
  }
}

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
    | 'PULL_REQUEST_RESTACK_FAILED'
    | 'COMMIT_STATUS_CREATED'
    | 'MERGEABILITY_CHECKED'
    | 'ISSUE_OPENED'
    | 'ISSUE_EDITED'
    | 'ISSUE_CLOSED'
    | 'ISSUE_REOPENED'
    | 'ISSUE_COMMENTED'
    | 'ISSUE_DELETED'
    | 'ISSUE_TRANSFERRED'
    | 'MERGE_QUEUE_ENTERED'
    | 'MERGE_QUEUE_GROUP_CREATED'
    | 'MERGE_QUEUE_LEFT'
    | 'LFS_LOCKED'
    | 'LFS_UNLOCKED'
  /**
   * The callers that receive the event: the readers of any feature or of one, the users who can see
   * draft releases, or the administrators of the repository. `reactions` are for those who watch the
   * conversation alone.
   */
  audience:
    | 'any'
    | 'code'
    | 'releases'
    | 'drafts'
    | 'pulls'
    | 'issues'
    | 'reactions'
    | 'administration'
  /** Id of the account that caused the event. Null for the server. */
  actor_id: number | null
  /** Id of the release, protection, pull request or issue. */
  subject_id: number | null
  /**
   * The tag name of a release, or the name or pattern of a protection. For refs, the JSON
   * `{"count", "refs": [[ref, old id, new id]]}`. For a pull request, the JSON `[number, base,
   * head]`, for an issue, the JSON `[number, 0]`, with `comment id, change` at the end or in place of 0
   * if the event is about a comment or reactions. For a status, the
   * JSON `[commit, number, context, state]`. For a merge queue, the JSON of `NotedQueue`.
   */
  subject: string
  /** Unix milliseconds. */
  time: number
}

/** The state of the event log of a repository. A repository without events has no row. */
interface RepositoryEventLogsTable {
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

declare module '../../platform/database/schema.ts' {
  interface Schema {
    repository_event_logs: RepositoryEventLogsTable
    repository_events: RepositoryEventsTable
  }
}

/** Subscriptions of users to repositories. Default: notified when participating. */
interface RepositorySubscriptionsTable {
  repository_id: number
  user_id: number
  /** WATCHING: notified of every issue and pull request. IGNORED: notified of none. */
  mode: 'WATCHING' | 'IGNORED'
  /** Unix seconds. */
  create_time: number
}

export type RepositorySubscription = Selectable<RepositorySubscriptionsTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    repository_subscriptions: RepositorySubscriptionsTable
  }
}
