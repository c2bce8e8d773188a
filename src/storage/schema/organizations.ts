import type { Generated, Insertable, Selectable } from 'kysely'
/** Who may know of an account or team: everybody, whoever is signed in, or its members. */
export type Visibility = 'public' | 'limited' | 'private'

export interface OrganizationsTable {
  /** Drawn from `accounts`, whose numbers users have too. */
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
  /** 0 or 1: whether administrators of a repository choose which teams have access to it. */
  repo_admin_change_team_access: number
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

/** Members: whoever is in at least one team. */
export interface OrganizationMembersTable {
  organization_id: number
  user_id: number
  /** 0 or 1: whether outsiders may know. */
  is_public: number
}

export type Organization = Selectable<OrganizationsTable>

export type NewOrganization = Omit<Insertable<OrganizationsTable>, 'id'>

/** What may change of an organisation. */
export type OrganizationChanges = Partial<
  Omit<Organization, 'id' | 'name' | 'name_key' | 'create_time'>
>

export interface TeamMembersTable {
  team_id: number
  user_id: number
}

export interface TeamsTable {
  /** Never given a second time. */
  id: Generated<number>
  organization_id: number
  name: string
  /** The name folded for comparison. */
  name_key: string
  description: string
  /**
   * `owner` for the team Owners alone. Below `admin` it is the lowest level among the open units,
   * so that `none` says that the team opens nothing.
   */
  permission: 'none' | 'read' | 'write' | 'admin' | 'owner'
  /**
   * What members may do, as JSON: an object of unit names such as `repo.code` to levels, `none`
   * included; units that it leaves out are closed. Levels above `write` are what somebody called
   * it, and mean `write` unless `permission` says more.
   */
  units: string
  /** 0 or 1: whether it has every repository of the organisation, those that will be made too. */
  includes_all_repositories: number
  /** 0 or 1. */
  can_create_org_repo: number
  visibility: Visibility
  /** Unix seconds. */
  create_time: number
}

/** Repositories that teams have, besides all of them for teams that include all. */
export interface TeamRepositoriesTable {
  team_id: number
  repository_id: number
}

export type Team = Selectable<TeamsTable>

export type NewTeam = Insertable<TeamsTable>

/** What may change of a team. */
export type TeamChanges = Partial<Omit<Team, 'id' | 'organization_id' | 'create_time'>>
