import type { Generated, Insertable, Selectable } from 'kysely'
/** A setting of a rule that is on or off. */
export type ProtectionFlag =
  | 'enable_push'
  | 'enable_push_whitelist'
  | 'push_whitelist_deploy_keys'
  | 'enable_force_push'
  | 'enable_force_push_allowlist'
  | 'force_push_allowlist_deploy_keys'
  | 'enable_merge_whitelist'
  | 'enable_bypass_allowlist'
  | 'enable_status_check'
  | 'enable_approvals_whitelist'
  | 'block_on_rejected_reviews'
  | 'block_on_official_review_requests'
  | 'block_on_outdated_branch'
  | 'block_admin_merge_override'
  | 'dismiss_stale_approvals'
  | 'ignore_stale_approvals'
  | 'require_signed_commits'

/** A list of users and teams of a rule. */
export type ProtectionList = 'push' | 'force_push' | 'merge' | 'bypass' | 'approvals'

/** Rules about branches. */
export interface BranchProtectionsTable extends Record<ProtectionFlag, number> {
  id: Generated<number>
  repository_id: number
  /** A name of a branch or a glob. */
  rule_name: string
  /** From 1; the lowest comes first. */
  priority: number
  /** A JSON array of texts. */
  status_check_contexts: string
  required_approvals: number
  /** Globs between semicolons. */
  protected_file_patterns: string
  unprotected_file_patterns: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

export interface BranchProtectionUsersTable {
  protection_id: number
  list: ProtectionList
  user_id: number
}

export interface BranchProtectionTeamsTable {
  protection_id: number
  list: ProtectionList
  team_id: number
}

/** What branches were called before, and are called now. */
export interface BranchRenamesTable {
  repository_id: number
  /** Without `refs/heads/`, as is the new one. */
  old_name: string
  new_name: string
  /** Of the note of the update that renames it; null once that has happened. */
  note_id: number | null
}

export type BranchRename = Selectable<BranchRenamesTable>

/**
 * What the branches of a repository point to. Git is the truth; this follows, and answers lists
 * without opening Git.
 */
export interface BranchesTable {
  repository_id: number
  /** Without `refs/heads/`. */
  name: string
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Committer's time of the commit, Unix seconds. */
  commit_time: number
}

/**
 * Updates of refs that were about to be made. A row that is left over means that refs have to be
 * read from Git.
 */
export interface PendingRefUpdatesTable {
  id: Generated<number>
  repository_id: number
  /** Unix seconds. */
  create_time: Generated<number>
}

export type Branch = Selectable<BranchesTable>

export type PendingRefUpdate = Selectable<PendingRefUpdatesTable>

/** Users who were given access to one repository. */
export interface CollaboratorsTable {
  repository_id: number
  user_id: number
  level: 'read' | 'write' | 'admin'
}

export type Collaborator = Selectable<CollaboratorsTable>

/** What was said of commits. Rows never change. */
export interface CommitStatusesTable {
  repository_id: number
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Among the statuses of the commit, from 1, rising. */
  number: number
  context: string
  state: 'pending' | 'success' | 'error' | 'failure' | 'warning' | 'skipped'
  target_url: string
  description: string
  /** Number of an account, which may be gone: numbers do not come back. */
  creator_id: number
  /** Unix seconds. */
  create_time: number
}

/**
 * The latest status of each context of a commit: what they amount to must not depend on how many
 * came before.
 */
export interface CommitStatusContextsTable {
  repository_id: number
  commit_id: string
  context: string
  /** Of the status. */
  number: number
  /** Of the status. */
  state: CommitStatusesTable['state']
}

export type CommitStatus = Selectable<CommitStatusesTable>

export type NewCommitStatus = Omit<CommitStatus, 'number'>

export interface DeployKeysTable {
  id: Generated<number>
  repository_id: number
  /** Row of `public_keys`, which other repositories may share. It goes with the last of them. */
  key_id: number
  title: string
  /** Type, base64 and comment. */
  line: string
  /** 0 or 1. */
  read_only: number
  /** Unix seconds. */
  create_time: number
}

/** A key of a repository. */
export type DeployKey = Selectable<DeployKeysTable> & { readonly fingerprint: string }

/**
 * Scripts that run on pushes. A row, for backups to have it, forks not, and no script to reach what
 * another push will run.
 */
export interface GitHooksTable {
  repository_id: number
  /** As githooks(5) calls it. */
  name: string
  /** Never empty: a hook without a script has no row. */
  content: string
  /** Unix seconds. */
  update_time: number
}

export type GitHook = Selectable<GitHooksTable>

/**
 * Of repositories, and of organisations for all of their repositories: one of the two ids is there.
 */
export interface LabelsTable {
  /** Never given a second time. */
  id: Generated<number>
  repository_id: number | null
  organization_id: number | null
  name: string
  /** Six hexadecimal digits in lower case. */
  color: string
  description: string
  /** 0 or 1: whether something carries at most one label of this one's scope. */
  exclusive: number
  /** 0 or 1. */
  archived: number
}

export type Label = Selectable<LabelsTable>

export interface MilestonesTable {
  /** Never given a second time. */
  id: Generated<number>
  repository_id: number
  title: string
  /** Markdown. */
  description: string
  state: 'open' | 'closed'
  /** Unix seconds; null without a date. */
  due_time: number | null
  /** Unix seconds; null while it is open. */
  close_time: number | null
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /** How many issues and pull requests of it are open. */
  open_issues: Generated<number>
  /** How many are closed. */
  closed_issues: Generated<number>
}

export type Milestone = Selectable<MilestonesTable>

export type NewMilestone = Insertable<MilestonesTable>

export type MilestoneChanges = Partial<Omit<NewMilestone, 'id' | 'repository_id' | 'create_time'>>

/** Repositories that follow another one elsewhere. */
export interface MirrorsTable {
  repository_id: number
  /** http or https, without credentials. */
  url: string
  /** Name and password there, sealed; null without any. */
  credentials: Buffer | null
  /** From one synchronisation to the next; 0 for none but those that are asked for. */
  interval_seconds: number
  /** 0 or 1: whether what is deleted there is deleted here. */
  prune: number
  /** When it is due, in Unix milliseconds; null while it waits for somebody to ask. */
  next_sync_time: number | null
  /** When it was last the same as there, Unix seconds; null before the first time. */
  last_sync_time: number | null
  /** When something new was last found there, Unix seconds; null before the first time. */
  change_time: number | null
  /** Why the latest synchronisation failed; empty when it did not. */
  error: string
}

export type Mirror = Selectable<MirrorsTable>

/** How a mirror is to follow. */
export type MirrorChanges = Partial<Pick<Mirror, 'interval_seconds' | 'prune' | 'next_sync_time'>>

/**
 * Files that come with releases. A row is there only while its file is: the file is written first,
 * and removed last.
 */
export interface ReleaseAssetsTable {
  /** Never given a second time. */
  id: Generated<number>
  release_id: number
  /** Names the file, and leads to it from outside. */
  uuid: string
  name: string
  /** Size of the file. */
  bytes: number
  /** How often its download was begun. */
  download_count: Generated<number>
  /** Unix seconds. */
  create_time: number
}

export type ReleaseAsset = Selectable<ReleaseAssetsTable>

export type NewReleaseAsset = Insertable<ReleaseAssetsTable>

export interface ReleasesTable {
  /** Never given a second time. */
  id: Generated<number>
  repository_id: number
  /**
   * As the tag of Git is called, where there is one. Unique in its repository, in any case of ASCII
   * letters.
   */
  tag_name: string
  /**
   * 0 or 1: what a release leaves behind when it is deleted and its tag stays. It keeps the id,
   * should the tag get a release again.
   */
  tag_only: number
  /** 0 or 1. */
  draft: number
  /** 0 or 1. */
  prerelease: number
  /** Of the user who published it, who may be gone. */
  publisher_id: number
  /**
   * When it was published, or when its tag was made if that was there before; of a draft when it
   * was last saved. Unix seconds.
   */
  create_time: number
  /** Branch or commit that the tag is made from, as given. */
  target: string
  title: string
  /** Markdown. */
  note: string
}

export type Release = Selectable<ReleasesTable>

export type NewRelease = Insertable<ReleasesTable>

export type ReleaseChanges = Partial<Omit<NewRelease, 'id' | 'repository_id'>>

export interface RepositoriesTable {
  /** Names the folder of its Git repository; never given a second time. */
  id: Generated<number>
  /** Of a user or an organisation. */
  owner_id: number
  name: string
  /** The name folded for comparison. */
  name_key: string
  description: string
  website: string
  /** 0 or 1. */
  private: number
  /** Unix seconds; null while it is not archived. */
  archive_time: number | null
  /** Name without `refs/heads/`. Git's HEAD is the truth; this follows. */
  default_branch: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /**
   * The repository that it was forked from; null when it was not, or when that is gone. One owner
   * has one fork of it at most.
   */
  parent_id: Generated<number | null>
  /** 0 or 1: whether it follows another one elsewhere, which `mirrors` knows. */
  mirror: Generated<number>
  /** Where it was copied from, without credentials; empty when it began here. */
  original_url: Generated<string>
  /** 0 or 1, as are all settings below that are not texts. */
  template: Generated<number>
  /** Units that can be switched off. */
  has_issues: Generated<number>
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
  default_merge_style: Generated<MergeStyle>
  default_update_style: Generated<UpdateStyle>
  /** Branch that pull requests go to unless they say otherwise; empty for the default branch. */
  default_target_branch: Generated<string>
  /** Of the folder on disk, as last measured. */
  size_kib: Generated<number>
  /** Kept by triggers on `branches`. */
  branch_count: Generated<number>
  /** Kept by triggers on `parent_id`. */
  forks_count: Generated<number>
  /** Kept by triggers on `pull_requests`, as is the next one. */
  open_pulls_count: Generated<number>
  pulls_count: Generated<number>
  /** The number that was given last to a pull request; those are never given twice. */
  last_issue_number: Generated<number>
  releases_count: Generated<number>
}

/** How the commits of a pull request come to its base. */
export type MergeStyle = 'merge' | 'rebase' | 'rebase-merge' | 'squash' | 'fast-forward-only'

/** How the commits of its base come to a pull request. */
export type UpdateStyle = 'merge' | 'rebase'

/** Names that repositories had before. */
export interface RepositoryRedirectsTable {
  owner_id: number
  name_key: string
  repository_id: number
}

export type Repository = Selectable<RepositoriesTable>

export type NewRepository = Insertable<RepositoriesTable>

/** What may change of a repository, besides its name and owner. */
export type RepositoryChanges = Partial<
  Omit<
    Repository,
    'id' | 'owner_id' | 'name' | 'name_key' | 'create_time' | 'branch_count' | 'forks_count'
  >
>

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

/** Repositories that are offered to another user, until they are taken or not. */
export interface RepositoryTransfersTable {
  repository_id: number
  /** Who offers it. */
  doer_id: number
  /** Whom it is offered to. */
  recipient_id: number
  /**
   * 0 or 1: whether the recipient was made a collaborator in order to look at it, and is one no
   * longer when it is not taken.
   */
  made_reader: number
  /** Unix seconds. */
  create_time: number
}

export type RepositoryTransfer = Selectable<RepositoryTransfersTable>

/** Rules about who may make, move and delete which tags. */
export interface TagProtectionsTable {
  id: Generated<number>
  repository_id: number
  /** A glob, or between slashes a regular expression. */
  name_pattern: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

export interface TagProtectionUsersTable {
  protection_id: number
  user_id: number
}

export interface TagProtectionTeamsTable {
  protection_id: number
  team_id: number
}

/**
 * What the tags of a repository point to. Git is the truth; this follows, and answers lists without
 * opening Git.
 */
export interface TagsTable {
  repository_id: number
  /** Without `refs/tags/`. */
  name: string
  /** 40 hexadecimal digits: of the tag object for an annotated tag, else of what it names. */
  object_id: string
  /** 0 or 1. */
  annotated: number
  /** Of the commit that it leads to; null for the rare tag of something else. */
  commit_id: string | null
  /** Of the tagger or, without one, of the committer, Unix seconds. */
  time: number
  /** Of the tag object or the commit, without a signature. */
  message: string
}

export type Tag = Selectable<TagsTable>

/** Words that repositories are found by. A row is there as long as a repository has the topic. */
export interface TopicsTable {
  /** Never given a second time. */
  id: Generated<number>
  name: string
  /** Repositories that have it and that everybody may read. Kept by triggers. */
  public_count: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** When a repository took it last, in Unix seconds. */
  update_time: number
}

export interface RepositoryTopicsTable {
  repository_id: number
  topic_id: number
  /** 0 or 1: whether everybody may read the repository. Kept by triggers. */
  is_public: Generated<number>
}

export type Topic = Selectable<TopicsTable>

/** A rule, with whom it exempts. */
export interface TagProtection extends Selectable<TagProtectionsTable> {
  readonly users: readonly ListedName[]
  readonly teams: readonly ListedName[]
}

/** A user or a team on a list. */
export interface ListedName {
  readonly id: number
  readonly name: string
}
