import type { Generated, Selectable } from 'kysely'

/** The boolean settings of a branch protection. */
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
  | 'enable_merge_queue'

/** The lists of users and teams of a branch protection. */
export type ProtectionList = 'push' | 'force_push' | 'merge' | 'bypass' | 'approvals'

/** Branch protections. */
export interface BranchProtectionsTable extends Record<ProtectionFlag, number> {
  id: Generated<number>
  repository_id: number
  /** A branch name or a glob. */
  rule_name: string
  /** Starts at 1. The rule with the lowest priority is tried first. */
  priority: number
  /** A JSON array of strings. */
  status_check_contexts: string
  required_approvals: number
  /** Globs, separated by semicolons. */
  protected_file_patterns: string
  unprotected_file_patterns: string
  /** RE2 expressions; empty for none. */
  commit_message_pattern: string
  commit_author_email_pattern: string
  branch_name_pattern: string
  /** The largest file; 0 for no limit. */
  max_file_bytes: number
  /** A merge style; empty for the default of the repository. */
  merge_queue_style: string
  merge_queue_max_group: number
  merge_queue_parallel: number
  merge_queue_wait_seconds: number
  merge_queue_check_timeout_seconds: number
  /** JSON arrays of strings, which `status_check_contexts` contains. */
  merge_queue_only_contexts: string
  merge_queue_head_contexts: string
  /** Who may merge past the queue. */
  merge_queue_bypass: QueueBypass
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

export type QueueBypass = 'nobody' | 'administrators' | 'bypass_allowlist'

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

/** Tag protections: who may create, move and delete which tags. */
export interface TagProtectionsTable {
  id: Generated<number>
  repository_id: number
  /** A glob, or a regular expression between slashes. */
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

/** A tag protection with the users and teams that it exempts. */
export interface TagProtection extends Selectable<TagProtectionsTable> {
  readonly users: readonly ListedName[]
  readonly teams: readonly ListedName[]
}

/** A user or team on a list. */
export interface ListedName {
  readonly id: number
  readonly name: string
}

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    branch_protection_teams: BranchProtectionTeamsTable
    branch_protection_users: BranchProtectionUsersTable
    branch_protections: BranchProtectionsTable
    tag_protection_teams: TagProtectionTeamsTable
    tag_protection_users: TagProtectionUsersTable
    tag_protections: TagProtectionsTable
  }
}
