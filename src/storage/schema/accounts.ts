import type { Generated, Insertable, Selectable, Updateable } from 'kysely'
import type { Visibility } from './organizations.ts'
export interface GpgKeysTable {
  id: Generated<number>
  user_id: number
  /** The key that this one is a subkey of; null for a key that is none. */
  primary_id: number | null
  /** 16 hexadecimal digits in upper case, by which signatures name their key. */
  key_id: string
  /** Hexadecimal, in lower case. */
  fingerprint: string
  /** The packet of the key in base64. */
  packet: string
  /**
   * Octet of key flags (RFC 9580, section 5.2.3.29): 1 certify, 2 sign, 4 encrypt messages, 8
   * encrypt files.
   */
  flags: number
  /** The addresses that it names, as a JSON array; empty for a subkey. */
  emails: string
  /** 1 when the owner of the account proved to have the private key. */
  verified: number
  /** Unix seconds; of the key, not of its row. */
  create_time: number
  /** Unix seconds; null for never. */
  expire_time: number | null
}

/** Whole keys, for checking signatures. */
export interface GpgCertificatesTable {
  gpg_key_id: number
  /** The transferable public key (RFC 9580, section 10.1), without signatures of others. */
  certificate: Buffer
}

export type GpgKey = Selectable<GpgKeysTable>

/** External services that people sign in through, all of them OAuth 2.0. */
export interface IdentityProvidersTable {
  id: Generated<number>
  /** Last segment of the resource name. */
  uid: string
  title: string
  /** Regular expression in the syntax of RE2; empty admits everybody. */
  identifier_filter: string
  client_id: string
  /** Sealed; null for a public client. */
  client_secret: Buffer | null
  /** Empty when browsers need none. */
  auth_url: string
  token_url: string
  user_info_url: string
  /** Separated by blanks. */
  scopes: string
  /** Names of members of the user info answer. All but the first may be empty. */
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

/** Who accounts are at identity providers. */
export interface LinkedIdentitiesTable {
  id: Generated<number>
  user_id: number
  provider_id: number
  /** What the provider calls the person, compared exactly. */
  extern_uid: string
}

export interface PasswordResetsTable {
  user_id: number
  /**
   * SHA-256 of the token, in hex; null when it was used or is void. A trigger voids it when the
   * username, address, password or state of the account changes.
   */
  token_hash: string | null
  /** From when on the token is refused, Unix seconds. */
  expire_time: number
  /** When a token was last mailed, Unix seconds; null for never. It outlives the token. */
  mail_time: number | null
}

export interface PersonalAccessTokensTable {
  id: Generated<number>
  /** Last segment of the resource name. */
  uuid: string
  user_id: number
  /** SHA-256 of the whole token text, in hex. The text itself is stored nowhere. */
  token_hash: string
  /**
   * The last characters of the text, by which people tell their tokens; empty for one made before
   * they were kept.
   */
  last_eight: Generated<string>
  description: string
  /** Normalised scopes, separated by blanks. */
  scopes: string
  /** Unix milliseconds. */
  created_at: number
  /** Unix milliseconds; null for never. */
  expires_at: number | null
  /** Unix milliseconds; null before the first use. */
  last_used_at: number | null
}

export type PersonalAccessToken = Selectable<PersonalAccessTokensTable>

export interface PublicKeysTable {
  id: Generated<number>
  /** Null for a key that repositories have. */
  user_id: number | null
  /** `SHA256:` and base64, as OpenSSH prints it. */
  fingerprint: string
  /** Empty for a key that repositories have: each gives it a title of its own. */
  title: string
  /** Type, base64 and comment. Without the comment for a key that repositories have. */
  line: string
  /** 0 or 1. */
  read_only: number
  /** Unix seconds. */
  create_time: number
}

/** A key that an account or repositories have. */
export type StoredPublicKey = Selectable<PublicKeysTable>

export interface SessionsTable {
  /** Random; the `sid` claim of the session's tokens. */
  id: string
  user_id: number
  /** The refresh token that is valid now, the `tid` claim. */
  token_id: string
  /** When it was made, Unix seconds. */
  token_issued_at: number
  /**
   * The refresh token before it, still good for a moment after the change; null before the first.
   */
  previous_token_id: string | null
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  expire_time: number
  /** Of the client that signed in, cut to a sane length. */
  user_agent: string
}

export type Session = Selectable<SessionsTable>

/** The second factor of an account that has been handed a secret. */
export interface TwoFactorsTable {
  user_id: number
  /** Sealed, with a nonce of its own, so that equal bytes mean the same enrolment. */
  secret: Buffer
  /**
   * The step of the newest passcode accepted, whichever way it was presented; 0 before the first.
   */
  last_used_step: Generated<number>
  /** When the secret was handed out, Unix seconds. */
  create_time: number
  /** Unix seconds; null until the first passcode. */
  confirm_time: number | null
  /** When a passcode or recovery code was last accepted, Unix seconds. */
  last_used_time: number | null
}

/** Recovery codes that were not used yet. */
export interface RecoveryCodesTable {
  user_id: number
  /** The part of the code that it is found by. */
  lookup: string
  /** PHC string of argon2id, of the whole code. */
  code_hash: string
}

export type TwoFactor = Selectable<TwoFactorsTable>

export type RecoveryCode = Selectable<RecoveryCodesTable>

/** A recovery code to store. */
export type NewRecoveryCode = Omit<RecoveryCode, 'user_id'>

/** Users whom another account keeps away from what it owns. */
export interface UserBlocksTable {
  /** A user or an organisation. */
  blocker_id: number
  blocked_id: number
  /** Why, for the blocker's eyes. */
  note: string
  /** Unix seconds. */
  create_time: number
}

export type UserBlock = Selectable<UserBlocksTable>

/** Preferences of the accounts that ever wrote one. */
export interface UserSettingsTable {
  user_id: number
  /** Language tag. */
  locale: string
  /** Of memos that are made without one. */
  memo_visibility: 'PRIVATE' | 'PROTECTED' | 'PUBLIC'
  /** Name of a stylesheet; empty for the frontend's own choice. */
  theme: string
}

export type UserSettings = Omit<UserSettingsTable, 'user_id'>

export interface UsersTable {
  /** Number of the account: subject of access tokens, and what clients of the forge know it by. */
  id: number
  /** The id that the creator chose; null when the resource name follows the username. */
  user_id: string | null
  username: string
  email: string
  /** The e-mail address folded for comparison; empty when there is none. */
  email_key: string
  /**
   * 1 when a personal access token of the account wrote the address, which then proves nothing
   * about its owner.
   */
  email_by_token: Generated<number>
  /** 1 when commits that the server makes name the account by an address that takes no mail. */
  keep_email_private: Generated<number>
  display_name: string
  /** '', an https URL, or `data:` for a picture in `user_avatars`. */
  avatar_url: string
  description: string
  /** PHC string of argon2id; empty when the account has no password. */
  password_hash: string
  role: 'ADMIN' | 'USER'
  state: 'NORMAL' | 'ARCHIVED'
  /**
   * Who may know of the user and of what the user owns: everybody, whoever is signed in, or nobody
   * else.
   */
  visibility: Generated<Visibility>
  /** 1 when the user sees only what was opened to them by name. */
  restricted: Generated<number>
  /** Access tokens carry the version they were made under; a higher one here voids them. */
  token_version: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

/** A picture that was uploaded. It is not in `users`, so that lists of accounts do not carry it. */
export interface UserAvatarsTable {
  user_id: number
  content_type: string
  data: Buffer
}

/** Everybody who may own something: users and organisations, in one space of numbers. */
export interface AccountsTable {
  id: Generated<number>
  kind: 'USER' | 'ORGANIZATION'
}

/**
 * Every name that leads to an account, folded: of a user the username and the id that its creator
 * chose.
 */
export interface AccountNamesTable {
  name_key: string
  account_id: number
}

/** Names that led to an account before, until another one takes them. */
export interface AccountRedirectsTable {
  name_key: string
  account_id: number
}

/** How many accounts are in a state, kept by triggers. */
export interface UserCountsTable {
  state: UsersTable['state']
  count: number
}

/** A CreateUser call that carried a request id. */
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

export type User = Selectable<UsersTable>

export type NewUser = Omit<Insertable<UsersTable>, 'id'>

export type UserChanges = Updateable<UsersTable>

export type CreateRequest = Selectable<CreateRequestsTable>

/** A part of a list of keys, of whatever kind, and how long the whole list is. */
export interface KeyPage<Key> {
  readonly keys: readonly Key[]
  readonly total: number
}
