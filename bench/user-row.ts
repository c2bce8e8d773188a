/** The columns that the bare servers and the peers read, and print as a user. */
export interface UserRow {
  readonly id: number
  readonly name: string
  readonly role: 'ADMIN' | 'USER'
  readonly username: string
  readonly display_name: string
  readonly avatar_url: string
  readonly description: string
  readonly state: 'NORMAL' | 'ARCHIVED'
  readonly create_time: number
  readonly update_time: number
}

/** Selects the row of an account by its name. The condition on `name_key` follows. */
export const SELECT_USER = `select users.id, coalesce(users.user_id, username) as name, role, username, display_name,
  avatar_url, description, state, create_time, update_time
  from account_names join users on users.id = account_names.account_id`
