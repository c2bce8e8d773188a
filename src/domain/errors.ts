/**
 * Everything that can go wrong by the caller's doing, each a value of the proto enum ErrorReason, where its meaning and
 * its metadata are documented. A reason names a situation, so that each has exactly one status.
 */
export type Reason =
  | 'ACCOUNT_ARCHIVED'
  | 'AVATAR_NOT_FOUND'
  | 'BAD_CREDENTIALS'
  | 'DISPLAY_NAME_CHANGE_CLOSED'
  | 'EMAIL_TAKEN'
  | 'EMPTY_MASK'
  | 'FIRST_ACCOUNT_REFUSED'
  | 'HAS_ASSOCIATED_DATA'
  | 'IDENTITY_PROVIDER_NOT_FOUND'
  | 'INVALID_AVATAR'
  | 'INVALID_EMAIL'
  | 'INVALID_EXPIRY'
  | 'INVALID_FIELD'
  | 'INVALID_FILTER'
  | 'INVALID_NAME'
  | 'INVALID_PAGE_SIZE'
  | 'INVALID_PAGE_TOKEN'
  | 'INVALID_REQUEST_ID'
  | 'INVALID_SCOPE'
  | 'INVALID_USER_ID'
  | 'INVALID_USERNAME'
  | 'LAST_ADMIN'
  | 'PASSWORD_SIGN_IN_CLOSED'
  | 'PERMISSION_DENIED'
  | 'PUBLIC_ONLY_TOKEN'
  | 'RATE_LIMITED'
  | 'REGISTRATION_CLOSED'
  | 'REQUEST_ID_REUSED'
  | 'SCOPE_MISSING'
  | 'SCOPE_NOT_HELD'
  | 'SESSION_REQUIRED'
  | 'TOKEN_NOT_FOUND'
  | 'TOO_MANY_NAMES'
  | 'UNAUTHENTICATED'
  | 'UNKNOWN_MASK_PATH'
  | 'USER_ID_TAKEN'
  | 'USER_NOT_FOUND'
  | 'USERNAME_CHANGE_CLOSED'
  | 'USERNAME_TAKEN'
  | 'WEAK_PASSWORD'

/** A request that the rules refuse. Anything else that is thrown is a fault of the server. */
export class DomainError extends Error {
  readonly reason: Reason
  /** Facts for programs, as the reason documents them. Never a secret. */
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: Reason, metadata: Readonly<Record<string, string>> = {}) {
    super(reason)
    this.name = 'DomainError'
    this.reason = reason
    this.metadata = metadata
  }
}
