import type { Generated, Insertable, Selectable } from 'kysely'

/** Applications that sign users in by OAuth 2.0, and act for them. */
export interface OAuth2ApplicationsTable {
  id: Generated<number>
  /** The public identifier of the application. */
  client_id: string
  /** A user or an organisation; null for an application of the instance. */
  owner_id: number | null
  name: string
  /** 1 if the application can keep a secret. */
  confidential: number
  /** SHA-256 of the client secret in hex; null for an application without one. */
  secret_hash: string | null
  /** A JSON array of URIs. */
  redirect_uris: string
  /** Unix seconds. */
  create_time: number
}

export type OAuth2Application = Selectable<OAuth2ApplicationsTable>

export type NewOAuth2Application = Insertable<OAuth2ApplicationsTable>

/** What a user has granted to an application. */
export interface OAuth2GrantsTable {
  id: Generated<number>
  user_id: number
  application_id: number
  /** Scopes that the user has agreed to so far, separated by spaces. */
  scopes: string
  /** Unix seconds. */
  create_time: number
  /** When the user last signed in to the application, in Unix seconds. */
  update_time: number
}

export type OAuth2Grant = Selectable<OAuth2GrantsTable>

/**
 * A sign-in to an application: first a code, then a refresh token and access tokens. The row of a
 * redeemed code stays as long as its tokens, so that a second use of the code ends them.
 */
export interface OAuth2AuthorizationsTable {
  /** Random. The UUID of its access tokens for work that a user schedules. */
  id: string
  grant_id: number
  /** Separated by spaces. No token has others. */
  scopes: string
  /** SHA-256 of the code in hex. */
  code_hash: string
  /** As the authorization request had it; empty if the request had none. */
  redirect_uri: string
  /** Of PKCE, by S256; null without PKCE. */
  code_challenge: string | null
  nonce: string | null
  /** When the user authenticated, in Unix seconds. */
  sign_in_time: number
  /** SHA-256 of the refresh token in hex; null before the code is redeemed. */
  refresh_hash: string | null
  /** Of the refresh token before; null before the first refresh. */
  previous_refresh_hash: string | null
  /** When the refresh token was created, in Unix seconds; null before the code is redeemed. */
  refresh_time: number | null
  /** When the code expires, then when the refresh token expires, in Unix seconds. */
  expire_time: number
}

export type OAuth2Authorization = Selectable<OAuth2AuthorizationsTable>

export interface OAuth2AccessTokensTable {
  /** SHA-256 of the token in hex. */
  token_hash: string
  authorization_id: string
  /** Separated by spaces. */
  scopes: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  expire_time: number
}

export type OAuth2AccessToken = Selectable<OAuth2AccessTokensTable>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    oauth2_access_tokens: OAuth2AccessTokensTable
    oauth2_applications: OAuth2ApplicationsTable
    oauth2_authorizations: OAuth2AuthorizationsTable
    oauth2_grants: OAuth2GrantsTable
  }
}
