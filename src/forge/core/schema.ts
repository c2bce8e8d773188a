import type { Generated, Selectable } from 'kysely'

export interface UsersTable {
  /** The id of the account in access tokens and in the forge API. */
  id: number
  /** The custom id; null if the resource name follows the username. */
  user_id: string | null
  username: string
  email: string
  /** The e-mail address folded for comparison; empty if there is none. */
  email_key: string
  /**
   * 1 if a personal access token of the account set the address, which therefore does not prove who
   * the owner is.
   */
  email_by_token: Generated<number>
  /**
   * 1 if the server uses an address that accepts no mail for the account in commits that it
   * creates.
   */
  keep_email_private: Generated<number>
  display_name: string
  /** '', an https URL, or `data:` for a picture in `user_avatars`. */
  avatar_url: string
  description: string
  website: Generated<string>
  location: Generated<string>
  /** PHC string of argon2id; empty if the account has no password. */
  password_hash: string
  role: 'ADMIN' | 'USER'
  state: 'NORMAL' | 'ARCHIVED'
  /** Who may see the user and what the user owns: everyone, signed-in users, or only the user. */
  visibility: Generated<Visibility>
  /** 1 if the user sees only what they were given access to explicitly. */
  restricted: Generated<number>
  /** What an administrator stored as the name at a source of sign-in, for clients that compare it. */
  login_name: Generated<string>
  /** The number of that source; 0 for none. */
  source_id: Generated<number>
  /** Maintained by triggers on `stars`. */
  stars_count: Generated<number>
  /** Maintained by triggers on `follows`, like the next column. */
  followers_count: Generated<number>
  following_count: Generated<number>
  /** Access tokens contain the version at their creation. A higher version revokes them. */
  token_version: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

export type User = Selectable<UsersTable>

/** Who may see an account or team: everyone, signed-in users, or its members. */
export type Visibility = 'public' | 'limited' | 'private'

/** The ways to merge a pull request into its base branch. */
export type MergeStyle = 'merge' | 'rebase' | 'rebase-merge' | 'squash' | 'fast-forward-only'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    users: UsersTable
  }
}
