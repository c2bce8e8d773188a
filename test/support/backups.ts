import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { openRestoreTarget } from '../../src/app/restore-target.ts'
import type { About, Progress } from '../../src/forge/administration/archive.ts'
import { writeBackup } from '../../src/forge/administration/backup.ts'
import { restoreBackup } from '../../src/forge/administration/restore.ts'

export const noProgress = (): Progress => ({
  rows: 0,
  checkedRows: 0,
  repositories: 0,
  files: 0,
  attachments: 0,
})

/** Returns a backup of an instance. */
export async function backUp(
  app: Parameters<typeof writeBackup>[0],
  hostKeysFolder?: string,
): Promise<Buffer> {
  const output = new PassThrough()
  const written = buffer(output)
  const options = { version: '1.2.3', progress: noProgress() }
  await writeBackup(app, output, hostKeysFolder ? { ...options, hostKeysFolder } : options)
  return written
}

/**
 * Restores a backup.
 *
 * @param database the URI of a PostgreSQL database; undefined for SQLite in the folder.
 */
export async function restoreTo(data: string, archive: Buffer, database?: string): Promise<About> {
  const target = await openRestoreTarget({ data, database })
  try {
    return await restoreBackup(Readable.from([archive]), target, noProgress())
  } finally {
    await target.release()
  }
}
