import type { Generated, Selectable } from 'kysely'

/** What the repositories of an owner use. Maintained by triggers on `repositories`. */
interface AccountUsageTable {
  owner_id: number
  /** Sum of `owned_bytes`. */
  git_bytes: Generated<number>
  /** The part of private repositories. */
  private_git_bytes: Generated<number>
  lfs_bytes: Generated<number>
  /** Files of releases and attachments of issues. */
  asset_bytes: Generated<number>
  /** The part of issues, pull requests and comments. */
  attachment_bytes: Generated<number>
  /** The percentage of a limit of which the owner was last told by mail. 0 for none. */
  warned_percent: Generated<number>
}

export type AccountUsage = Selectable<AccountUsageTable>

/** Limits of administrators. */
interface QuotaRulesTable {
  id: Generated<number>
  name: string
  /** Bytes; -1 for no limit. */
  limit_bytes: number
}

interface QuotaRuleSubjectsTable {
  rule_id: number
  /** A name of `subjects.ts`. */
  subject: string
}

interface QuotaGroupsTable {
  id: Generated<number>
  name: string
}

interface QuotaGroupRulesTable {
  group_id: number
  rule_id: number
}

/** The users and organisations of groups. */
interface QuotaGroupMembersTable {
  group_id: number
  owner_id: number
}

/** The kinds of bytes that are counted: of public and private repositories, LFS and attachments. */
export type Kind = 'public' | 'private' | 'lfs' | 'issues' | 'releases'

/** Bytes of each kind. */
export type Usage = Readonly<Record<Kind, number>>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    account_usage: AccountUsageTable
    quota_group_members: QuotaGroupMembersTable
    quota_group_rules: QuotaGroupRulesTable
    quota_groups: QuotaGroupsTable
    quota_rule_subjects: QuotaRuleSubjectsTable
    quota_rules: QuotaRulesTable
  }
}
