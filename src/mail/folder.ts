import { randomUUID } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
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

/** Writes messages to a folder for a mail server or an operator. */
export interface MailFolder {
  /** Resolves once the message is in the folder. */
  send(message: Message): Promise<void>
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
export async function openMailFolder(folder: string, now: () => number): Promise<MailFolder> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  return {
    async send(message) {
      const date = new Date(now())
      const name = `${date.toISOString().replaceAll(/[-:]/g, '')}-${randomUUID()}.eml`
      await writeWhole(join(folder, name), printMessage(message, date))
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

/**
 * Returns the message in the format of RFC 5322, with CRLF at the end of lines.
 *
 * The text is not encoded. Encodings that wrap long lines would break links for operators who read
 * the file.
 */
function printMessage({ from, to, subject, text }: Message, date: Date): string {
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
