import MimeNode from 'nodemailer/lib/mime-node'

/** A message to one person. */
export interface Message {
  /** Address alone, without a name. */
  readonly from: string
  /** Address alone, without a name. */
  readonly to: string
  readonly subject: string
  /** Plain text, lines ended by `\n`, none longer than the 998 octets of RFC 5322 section 2.1.1. */
  readonly text: string
}

/** What became of a message. Reasons have no address, since they are logged. */
export type SendResult =
  | { readonly kind: 'accepted' }
  /** Nobody will ever accept the message. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The message may be sent again later. */
  | { readonly kind: 'deferred'; readonly reason: string }

/**
 * Returns the message in the format of RFC 5322, with CRLF at the end of lines.
 *
 * The text is not encoded. Encodings that wrap long lines would break links for operators who read
 * the file.
 */
export function printMessage({ from, to, subject, text }: Message, date: Date): string {
  const head = new MimeNode('text/plain; charset=utf-8', { hostname: domainOf(from) })
  head.date = date
  // An address in this form is not parsed, so that its text can add neither a second address nor a
  // header.
  head.setHeader({
    From: { name: '', address: from },
    To: { name: '', address: to },
    Subject: subject,
  })
  head.setHeader('Content-Transfer-Encoding', '8bit')
  // Asks mail servers to send no automatic replies (RFC 3834 section 5.2).
  head.setHeader('Auto-Submitted', 'auto-generated')
  return `${head.buildHeaders()}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
