import { randomUUID } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { MailTransport } from './mail.ts'
import { printMessage } from './message.ts'

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
