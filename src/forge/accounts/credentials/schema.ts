import type { Generated, Insertable, Selectable, Updateable } from 'kysely'

/** OAuth 2.0 services that users sign in through. */
export interface IdentityProvidersTable {
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
}

export interface PasswordResetsTable {
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
export interface TwoFactorsTable {
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
export interface RecoveryCodesTable {
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

declare module '../../../platform/database/schema.ts' {
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
