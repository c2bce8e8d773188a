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

/** Writes messages to a folder, from where a mail server or a person picks them up. */
export interface MailFolder {
  /** Resolves once the message is in the folder. */
  send(message: Message): Promise<void>
}

/** What is in messages is for nobody but the receiver and the operator. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/**
 * Opens a folder for outgoing mail, made when it is missing. Each message is a file
 * `<time>-<random>.eml` in the format of RFC 5322. Names sort by time, and a file that has such a
 * name is complete.
 *
 * @param now Unix milliseconds, for names and Date headers.
 * @throws Error when the folder cannot be made.
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

/**
 * A crash at any moment leaves the whole file or none of this name, as rename(2) replaces names
 * atomically.
 */
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
 * The message in the format of RFC 5322, with CRLF at the end of lines.
 *
 * The text goes out as it is. Encodings that wrap long lines would break a link apart for those who
 * read the file rather than receive the mail.
 */
function printMessage({ from, to, subject, text }: Message, date: Date): string {
  const head = new MimeNode('text/plain; charset=utf-8', { hostname: domainOf(from) })
  head.date = date
  // An address in this form is not parsed: whatever it holds, it cannot become two, or another
  // header.
  head.setHeader({
    From: { name: '', address: from },
    To: { name: '', address: to },
    Subject: subject,
  })
  head.setHeader('Content-Transfer-Encoding', '8bit')
  // RFC 3834 section 5.2: nobody's out-of-office answer is wanted.
  head.setHeader('Auto-Submitted', 'auto-generated')
  return `${head.buildHeaders()}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
