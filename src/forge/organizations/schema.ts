import type { Generated, Insertable, Selectable } from 'kysely'
import type { Visibility } from '../core/schema.ts'

export interface OrganizationsTable {
  /** Allocated from `accounts`, like the ids of users. */
  id: number
  name: string
  /** The name folded for comparison, as in `account_names`. */
  name_key: string
  full_name: string
  email: string
  description: string
  website: string
  location: string
  visibility: Visibility
  /** 0 or 1: whether administrators of a repository choose the teams with access to it. */
  repo_admin_change_team_access: number
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

/** Users who are in at least one team. */
export interface OrganizationMembersTable {
  organization_id: number
  user_id: number
  /** 0 or 1: whether non-members see the membership. */
  is_public: number
}

export type Organization = Selectable<OrganizationsTable>

export type NewOrganization = Omit<Insertable<OrganizationsTable>, 'id'>

/** The columns that may change. */
export type OrganizationChanges = Partial<
  Omit<Organization, 'id' | 'name' | 'name_key' | 'create_time'>
>

export interface TeamMembersTable {
  team_id: number
  user_id: number
}

export interface TeamsTable {
  /** Never reused. */
  id: Generated<number>
  organization_id: number
  name: string
  /** The name folded for comparison. */
  name_key: string
  description: string
  /**
   * `owner` only for the team Owners. Below `admin`, this is the lowest level of the accessible
   * units; `none` means that no unit is accessible.
   */
  permission: 'none' | 'read' | 'write' | 'admin' | 'owner'
  /**
   * Levels by unit as a JSON object with keys such as `repo.code`. Units without an entry have no
   * access. Levels above `write` are stored as given and mean `write` unless `permission` is
   * higher.
   */
  units: string
  /**
   * 0 or 1: whether the team has access to all present and future repositories of the organisation.
   */
  includes_all_repositories: number
  /** 0 or 1. */
  can_create_org_repo: number
  visibility: Visibility
  /** Unix seconds. */
  create_time: number
}

/** Repositories assigned to teams that do not include all. */
export interface TeamRepositoriesTable {
  team_id: number
  repository_id: number
}

export type Team = Selectable<TeamsTable>

export type NewTeam = Insertable<TeamsTable>

/** The columns that may change. */
export type TeamChanges = Partial<Omit<Team, 'id' | 'organization_id' | 'create_time'>>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    organization_members: OrganizationMembersTable
    organizations: OrganizationsTable
    team_members: TeamMembersTable
    team_repositories: TeamRepositoriesTable
    teams: TeamsTable
  }
}
