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
interface GpgCertificatesTable {
  gpg_key_id: number
  /** The transferable public key (RFC 9580, section 10.1), without third-party signatures. */
  certificate: Buffer
}

export type GpgKey = Selectable<GpgKeysTable>

/** Mails that wait until a mail server accepts them. */
interface MailsTable {
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
  /** Unix seconds of the last Git session, exact to a minute. Null before the first one. */
  last_used_time: number | null
}

/** A key that belongs to an account or to repositories. */
export type StoredPublicKey = Selectable<PublicKeysTable>

/** Users that another account has blocked. */
interface UserBlocksTable {
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
interface UserSettingsTable {
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
interface UserEmailsTable {
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
interface UserEmailMailsTable {
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
interface AccountNamesTable {
  name_key: string
  account_id: number
}

/** Former names of accounts, until another account takes them. */
interface AccountRedirectsTable {
  name_key: string
  account_id: number
}

/** The number of accounts in each state, which is the sum of the shards. Maintained by triggers. */
interface UserCountsTable {
  state: UsersTable['state']
  shard: Generated<number>
  count: number
}

/** A CreateUser call with a request id. */
interface CreateRequestsTable {
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

/** The ends of the usernames and display names of users, for searches. Maintained by triggers. */
interface UserNameEndsTable {
  /** A name in lower case, from one of its characters on, up to 24 characters. */
  name_end: string
  user_id: number
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
    user_name_ends: UserNameEndsTable
    user_settings: UserSettingsTable
  }
}

/** OAuth 2.0 services that users sign in through. */
interface IdentityProvidersTable {
  id: Generated<number>
  /** Last segment of the resource name. */
  uid: string
  title: string
  /** Regular expression in RE2 syntax; empty to admit everyone. */
  identifier_filter: string
  client_id: string
  /** Sealed; null for a public client. */
  client_secret: Buffer | null
  /** Empty if browsers need none. */
  auth_url: string
  token_url: string
  user_info_url: string
  /** Separated by spaces. */
  scopes: string
  /** Names of claims in the user info response. Only the first one is required. */
  identifier_claim: string
  display_name_claim: string
  email_claim: string
  avatar_url_claim: string
}

export type IdentityProvider = Selectable<IdentityProvidersTable>

export type NewIdentityProvider = Insertable<IdentityProvidersTable>

export type IdentityProviderChanges = Updateable<IdentityProvidersTable>

export interface InstanceKeysTable {
  /** Key id, the `kid` of tokens signed with the key. */
  id: string
  secret: Buffer
  /** Unix seconds. */
  create_time: number
}

/** Identities of accounts at identity providers. */
export interface LinkedIdentitiesTable {
  id: Generated<number>
  user_id: number
  provider_id: number
  /** The provider's identifier of the person, compared case-sensitively. */
  extern_uid: string
  /**
   * When imported projects are searched for what the person wrote at the provider's server, in Unix
   * milliseconds; null once that is done.
   */
  adopt_time: Generated<number | null>
}

interface PasswordResetsTable {
  user_id: number
  /**
   * SHA-256 of the token in hex; null once it is used or void. A trigger voids the token when the
   * username, address, password or state of the account changes.
   */
  token_hash: string | null
  /** Unix seconds. */
  expire_time: number
  /**
   * When a token was last mailed, in Unix seconds; null for never. Kept after the token is used.
   */
  mail_time: number | null
}

export interface PersonalAccessTokensTable {
  id: Generated<number>
  /** Last segment of the resource name. */
  uuid: string
  user_id: number
  /** SHA-256 of the whole token text, in hex. The text itself is not stored. */
  token_hash: string
  /**
   * The last characters of the text, so that people can tell their tokens apart; empty for tokens
   * created before this column.
   */
  last_eight: Generated<string>
  description: string
  /** Normalised scopes, separated by spaces. */
  scopes: string
  /** Unix milliseconds. */
  created_at: number
  /** Unix milliseconds; null for no expiry. */
  expires_at: number | null
  /** Unix milliseconds; null before the first use. */
  last_used_at: number | null
}

export type PersonalAccessToken = Selectable<PersonalAccessTokensTable>

export interface SessionsTable {
  /** Random. The `sid` claim of the session's tokens. */
  id: string
  user_id: number
  /** The current refresh token, as in the `tid` claim. */
  token_id: string
  /** When the current refresh token was created, in Unix seconds. */
  token_issued_at: number
  /**
   * The previous refresh token, valid for a short time after the change; null before the first
   * change.
   */
  previous_token_id: string | null
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  expire_time: number
  /** Of the client that signed in, truncated, without invisible characters. */
  user_agent: string
  /** IP address of the client that signed in; empty if it is not known. */
  address: Generated<string>
  /**
   * When the owner last gave the password or a second factor within the session, in Unix seconds; 0
   * before the first time.
   */
  confirm_time: Generated<number>
}

export type Session = Selectable<SessionsTable>

/** The second factor of an account with a secret. */
interface TwoFactorsTable {
  user_id: number
  /** Sealed with a random nonce, so equal bytes identify the same enrolment. */
  secret: Buffer
  /** The step of the latest accepted passcode; 0 before the first. */
  last_used_step: Generated<number>
  /** When the secret was issued, in Unix seconds. */
  create_time: number
  /** Unix seconds; null before the first passcode. */
  confirm_time: number | null
  /** When a passcode or recovery code was last accepted, in Unix seconds. */
  last_used_time: number | null
}

/** Unused recovery codes. */
interface RecoveryCodesTable {
  user_id: number
  /** The part of the code by which it is found. */
  lookup: string
  /** PHC string of argon2id of the whole code. */
  code_hash: string
}

export type TwoFactor = Selectable<TwoFactorsTable>

export type RecoveryCode = Selectable<RecoveryCodesTable>

/** A recovery code to store. */
export type NewRecoveryCode = Omit<RecoveryCode, 'user_id'>

/**
 * Guesses of passwords and passcodes that the servers of a PostgreSQL database count together: the
 * wrong ones, and those that are being checked.
 */
export interface FailedGuessesTable {
  id: Generated<number>
  /** What the guess counts towards: the kind of a log and a key. */
  subject: string
  /** Unix milliseconds. */
  time: number
  /** Unix milliseconds after which the guess no longer counts. */
  expire_time: number
  /** 0 or 1: whether the guess is being checked. */
  is_running: number
}

declare module '../../platform/database/schema.ts' {
  interface Schema {
    failed_guesses: FailedGuessesTable
    identity_providers: IdentityProvidersTable
    instance_keys: InstanceKeysTable
    linked_identities: LinkedIdentitiesTable
    password_resets: PasswordResetsTable
    personal_access_tokens: PersonalAccessTokensTable
    recovery_codes: RecoveryCodesTable
    sessions: SessionsTable
    two_factors: TwoFactorsTable
  }
}
