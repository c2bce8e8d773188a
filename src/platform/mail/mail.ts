/** A mail to the owner of an account. */
export interface Mail {
  /** Address without a display name. */
  readonly from: string
  /** Address without a display name. */
  readonly to: string
  readonly subject: string
  /** Plain text with lines ending in `\n`, none longer than the 998 octets of RFC 5322 section 2.1.1. */
  readonly text: string
  /** Places the mail in a list and in a thread; undefined for a mail of neither. */
  readonly list?: MailList | undefined
}

/** The list and the thread of a mail. Ids of mails have no angle brackets. */
export interface MailList {
  /** Name of the list for people: printable ASCII without quotes and backslashes. */
  readonly name: string
  /** The id of the list, in the form of a host name (RFC 2919). */
  readonly id: string
  /** Ends the subscription by POST, without a sign-in (RFC 8058). */
  readonly unsubscribeUrl: string
  readonly messageId: string
  /** The first mail of the thread; undefined if this is the first one. */
  readonly threadId: string | undefined
}

/** The decision of a mail server. Reasons have no addresses, since they are logged. */
export type MailResult =
  | { readonly kind: 'accepted' }
  /** Nobody will ever accept the mail. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The mail may be sent again later. */
  | { readonly kind: 'deferred'; readonly reason: string }

/** Sends mails. */
export interface MailTransport {
  /** Resolves with the decision of the next mail server. */
  send(mail: Mail): Promise<MailResult>
}
