/**
 * Everything that can go wrong by the caller's doing, each a value of the proto enum ErrorReason, where its meaning and
 * its metadata are documented. A reason names a situation, so that each has exactly one status; CODE_REFUSED alone,
 * whose status is its own, goes out as BAD_CREDENTIALS.
 */
export type Reason =
  | 'ACCOUNT_ARCHIVED'
  | 'AVATAR_NOT_FOUND'
  | 'BAD_CREDENTIALS'
  | 'BLOCKED_ADDRESS'
  | 'CODE_REFUSED'
  | 'CROSS_SITE_REQUEST'
  | 'CURSOR_EXPIRED'
  | 'DISPLAY_NAME_CHANGE_CLOSED'
  | 'EMAIL_TAKEN'
  | 'EMPTY_MASK'
  | 'FIRST_ACCOUNT_REFUSED'
  | 'HAS_ASSOCIATED_DATA'
  | 'IDENTITY_ALREADY_LINKED'
  | 'IDENTITY_PROVIDER_ID_TAKEN'
  | 'IDENTITY_PROVIDER_NOT_FOUND'
  | 'IDENTITY_PROVIDER_UNAVAILABLE'
  | 'IDENTITY_REFUSED'
  | 'IDENTITY_TAKEN'
  | 'INVALID_AVATAR'
  | 'INVALID_CURSOR'
  | 'INVALID_EMAIL'
  | 'INVALID_EXPIRY'
  | 'INVALID_FIELD'
  | 'INVALID_FILTER'
  | 'INVALID_IDENTIFIER_FILTER'
  | 'INVALID_IDENTITY_PROVIDER_ID'
  | 'INVALID_MEMO_ID'
  | 'INVALID_NAME'
  | 'INVALID_ORDER'
  | 'INVALID_PAGE_SIZE'
  | 'INVALID_PAGE_TOKEN'
  | 'INVALID_REQUEST_ID'
  | 'INVALID_RESET_TOKEN'
  | 'INVALID_SCOPE'
  | 'INVALID_SIGNING_SECRET'
  | 'INVALID_USERNAME'
  | 'INVALID_USER_ID'
  | 'INVALID_WEBHOOK_URL'
  | 'LAST_ADMIN'
  | 'LAST_IDENTITY_PROVIDER'
  | 'LAST_SIGN_IN_METHOD'
  | 'LINKED_IDENTITY_NOT_FOUND'
  | 'MAIL_NOT_CONFIGURED'
  | 'MEMO_ARCHIVED'
  | 'MEMO_ID_TAKEN'
  | 'MEMO_NOT_FOUND'
  | 'NOTIFICATION_NOT_FOUND'
  | 'PASSWORD_SIGN_IN_CLOSED'
  | 'PERMISSION_DENIED'
  | 'PUBLIC_ONLY_TOKEN'
  | 'RATE_LIMITED'
  | 'REGISTRATION_CLOSED'
  | 'REQUEST_ID_REUSED'
  | 'SCOPE_MISSING'
  | 'SCOPE_NOT_HELD'
  | 'SESSION_REQUIRED'
  | 'SETTING_NOT_UPDATABLE'
  | 'TOKEN_NOT_FOUND'
  | 'TOO_MANY_NAMES'
  | 'TOO_MANY_STREAMS'
  | 'TOO_MANY_WEBHOOKS'
  | 'TWO_FACTOR_ALREADY_ENABLED'
  | 'TWO_FACTOR_INVALID'
  | 'TWO_FACTOR_NOT_ENABLED'
  | 'TWO_FACTOR_NOT_PENDING'
  | 'TWO_FACTOR_REQUIRED'
  | 'UNAUTHENTICATED'
  | 'UNKNOWN_MASK_PATH'
  | 'USERNAME_CHANGE_CLOSED'
  | 'USERNAME_TAKEN'
  | 'USER_ID_TAKEN'
  | 'USER_NOT_FOUND'
  | 'WEAK_PASSWORD'
  | 'WEBHOOK_DELIVERY_NOT_FOUND'
  | 'WEBHOOK_DISABLED'
  | 'WEBHOOK_NOT_FOUND'

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
