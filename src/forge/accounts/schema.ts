import type { Generated, Insertable, Selectable, Updateable } from 'kysely'
import type { UsersTable, Visibility } from '../core/schema.ts'

export interface GpgKeysTable {
  id: Generated<number>
  user_id: number
  /** Id of the primary key; null for a primary key. */
  primary_id: number | null
  /** 16 hexadecimal digits in upper case. Signatures identify their key by it. */
  key_id: string
  /** Hexadecimal digits in lower case. */
  fingerprint: string
  /** The packet of the key in base64. */
  packet: string
  /**
   * Octet of key flags (RFC 9580, section 5.2.3.29): 1 certify, 2 sign, 4 encrypt messages, 8
   * encrypt files.
   */
  flags: number
  /** The addresses of the key as a JSON array; empty for a subkey. */
  emails: string
  /** 1 if the owner of the account has proved possession of the private key. */
  verified: number
  /** Unix seconds. Creation time of the key, not of the row. */
  create_time: number
  /** Unix seconds; null if the key does not expire. */
  expire_time: number | null
}

/** Complete keys, for verifying signatures. */
export interface GpgCertificatesTable {
  gpg_key_id: number
  /** The transferable public key (RFC 9580, section 10.1), without third-party signatures. */
  certificate: Buffer
}

export type GpgKey = Selectable<GpgKeysTable>

/** Mails that wait until a mail server accepts them. */
export interface MailsTable {
  id: Generated<number>
  /** The receiver. */
  user_id: number
  /** The sealed mail. */
  content: Buffer
  failures: Generated<number>
  /** Unix milliseconds. */
  next_attempt_time: number
  /** Unix milliseconds. */
  expire_time: number
}

export type WaitingMail = Selectable<MailsTable>

export type NewWaitingMail = Insertable<MailsTable>

export interface PublicKeysTable {
  id: Generated<number>
  /** Null for a key that belongs to repositories. */
  user_id: number | null
  /** `SHA256:` and base64, as OpenSSH prints it. */
  fingerprint: string
  /**
   * Empty for a key that belongs to repositories, since each repository has its own title for it.
   */
  title: string
  /** Type, base64 and comment. A key that belongs to repositories has no comment. */
  line: string
  /** 0 or 1. */
  read_only: number
  /** Unix seconds. */
  create_time: number
}

/** A key that belongs to an account or to repositories. */
export type StoredPublicKey = Selectable<PublicKeysTable>

/** Users that another account has blocked. */
export interface UserBlocksTable {
  /** A user or an organisation. */
  blocker_id: number
  blocked_id: number
  /** A note that only the blocker sees. */
  note: string
  /** Unix seconds. */
  create_time: number
}

export type UserBlock = Selectable<UserBlocksTable>

/** Preferences of accounts that have stored any. */
export interface UserSettingsTable {
  user_id: number
  /** Language tag. */
  locale: string
  /** Default for new memos. */
  memo_visibility: 'PRIVATE' | 'PROTECTED' | 'PUBLIC'
  /** Name of a stylesheet; empty for the default of the frontend. */
  theme: string
  /** Which notifications of pull requests are mailed: all, mentions only, or none. */
  email_notifications: Generated<'enabled' | 'onmention' | 'disabled'>
}

export type UserSettings = Omit<Selectable<UserSettingsTable>, 'user_id'>

/** Users that a user follows. */
export interface FollowsTable {
  follower_id: number
  followed_id: number
  /** Unix seconds. */
  create_time: number
}

/** Additional addresses of users. */
export interface UserEmailsTable {
  id: Generated<number>
  user_id: number
  email: string
  /** The address folded for comparison. Only verified ones belong to one account. */
  email_key: string
  /** Unix seconds; null until the user has proved to receive mail there. */
  verify_time: number | null
  /** SHA-256 of the mailed token in hex; null once it was used. */
  token_hash: string | null
  /** Unix seconds. */
  token_expire_time: number
}

export type UserEmail = Selectable<UserEmailsTable>

export type NewUserEmail = Insertable<UserEmailsTable>

/** How many mails users have made the server send to new addresses. */
export interface UserEmailMailsTable {
  user_id: number
  /** Unix seconds. When the count began. */
  start_time: number
  count: number
}

/** Uploaded pictures, in a separate table so that lists of accounts do not load them. */
export interface UserAvatarsTable {
  user_id: number
  content_type: string
  data: Buffer
}

/** The common sequence of ids of users and organisations. */
export interface AccountsTable {
  id: Generated<number>
  kind: 'USER' | 'ORGANIZATION'
}

/** All folded names of accounts. Users have their username and their custom id. */
export interface AccountNamesTable {
  name_key: string
  account_id: number
}

/** Former names of accounts, until another account takes them. */
export interface AccountRedirectsTable {
  name_key: string
  account_id: number
}

/** The number of accounts in each state, maintained by triggers. */
export interface UserCountsTable {
  state: UsersTable['state']
  count: number
}

/** A CreateUser call with a request id. */
export interface CreateRequestsTable {
  caller: string
  request_id: string
  /** Of the request without its password. */
  digest: string
  /** Of the password in the request. */
  password_hash: string
  user_id: number
  /** Unix seconds. */
  create_time: number
}

export type NewUser = Omit<Insertable<UsersTable>, 'id'>

export type UserChanges = Updateable<UsersTable>

export type CreateRequest = Selectable<CreateRequestsTable>

/** A page of a list of keys, and the length of the whole list. */
export interface KeyPage<Key> {
  readonly keys: readonly Key[]
  readonly total: number
}

/** A user or an organisation. */
export interface Owner {
  /** Users and organisations share one sequence of ids. */
  readonly id: number
  readonly kind: AccountsTable['kind']
  /** Username of a user, name of an organisation. */
  readonly name: string
  readonly full_name: string
  /** Empty if there is none. */
  readonly email: string
  /** '', an https URL, or `data:` for a picture in `user_avatars`. */
  readonly avatar_url: string
  /** The custom id of a user, which identifies the user in resource names. */
  readonly user_id: string | null
  readonly description: string
  readonly website: string
  readonly location: string
  readonly visibility: Visibility
  /** 0 or 1. */
  readonly restricted: number
  /** Null for an organisation. */
  readonly role: UsersTable['role'] | null
  /** Null for an organisation. */
  readonly state: UsersTable['state'] | null
  /** Empty for an organisation. */
  readonly login_name: string
  /** 0 for an organisation. */
  readonly source_id: number
  /** 0 for an organisation, like the next two members. */
  readonly stars_count: number
  readonly followers_count: number
  readonly following_count: number
  /** Unix seconds. */
  readonly create_time: number
}

declare module '../../platform/database/schema.ts' {
  interface Schema {
    account_names: AccountNamesTable
    account_redirects: AccountRedirectsTable
    accounts: AccountsTable
    create_requests: CreateRequestsTable
    follows: FollowsTable
    gpg_certificates: GpgCertificatesTable
    gpg_keys: GpgKeysTable
    mails: MailsTable
    public_keys: PublicKeysTable
    user_avatars: UserAvatarsTable
    user_blocks: UserBlocksTable
    user_counts: UserCountsTable
    user_email_mails: UserEmailMailsTable
    user_emails: UserEmailsTable
    user_settings: UserSettingsTable
  }
}
