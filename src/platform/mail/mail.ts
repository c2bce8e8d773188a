import { randomUUID } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import MimeNode from 'nodemailer/lib/mime-node'

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
interface MailList {
  /** Name of the list for people: printable ASCII without quotes and backslashes. */
  readonly name: string
  /** The id of the list, in the form of a host name (RFC 2919). */
  readonly id: string
  /** Ends the subscription by POST, without a sign-in (RFC 8058). */
  readonly unsubscribeUrl: string
  readonly messageId: string
  /** The first mail of the thread; undefined if this is the first one. */
  readonly threadId: string | undefined
  /** Further headers for filters of receivers: names, and values of printable ASCII. */
  readonly headers: Readonly<Record<string, string>>
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

/**
 * Returns the message in the format of RFC 5322, with CRLF at the end of lines.
 *
 * The text is not encoded. Encodings that wrap long lines would break links for operators who read
 * the file.
 */
export function printMessage({ from, to, subject, text, list }: Mail, date: Date): string {
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
  if (list) addList(head, list)
  // Asks mail servers to send no automatic replies (RFC 3834 section 5.2).
  head.setHeader('Auto-Submitted', 'auto-generated')
  return `${head.buildHeaders()}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
}

function addList(head: MimeNode, list: MailList): void {
  const { name, id, unsubscribeUrl, messageId, threadId, headers } = list
  // Prepared, since the values are no addresses that nodemailer could parse.
  const set = (key: string, value: string) => head.setHeader({ [key]: { prepared: true, value } })
  set('List-Id', `"${name}" <${id}>`)
  set('List-Unsubscribe', `<${unsubscribeUrl}>`)
  set('List-Unsubscribe-Post', 'List-Unsubscribe=One-Click')
  set('Message-ID', `<${messageId}>`)
  for (const [key, value] of Object.entries(headers)) set(key, value)
  if (threadId === undefined) return
  set('In-Reply-To', `<${threadId}>`)
  head.setHeader('References', `<${threadId}>`)
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** Only the owner of the server's process may read messages. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/**
 * Opens a folder for outgoing mail, and creates it when it is missing. Each message becomes a file
 * `<time>-<random>.eml` in the format of RFC 5322. Names sort by time, and a file with such a name
 * is complete.
 *
 * @param now returns Unix milliseconds for names and Date headers.
 * @throws Error when the folder cannot be created.
 */
export async function openMailFolder(folder: string, now: () => number): Promise<MailTransport> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  return {
    async send(message) {
      const date = new Date(now())
      const name = `${date.toISOString().replaceAll(/[-:]/g, '')}-${randomUUID()}.eml`
      await writeWhole(join(folder, name), printMessage(message, date))
      return { kind: 'accepted' }
    },
  }
}

/** Writes a file atomically, by rename(2). A crash leaves the complete file or none. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'wx', FILE_MODE)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
