import type { Generated, Insertable, Selectable } from 'kysely'

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
