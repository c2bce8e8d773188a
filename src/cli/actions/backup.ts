import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { attachmentsOf, type DataPlace, openDataAsItIs, repositoriesOf } from '../../data-folder.ts'
import { writeBackup } from '../../domain/maintenance/backup.ts'
import { systemClock } from '../../server/app.ts'
import { VERSION } from '../../version.ts'
import { print } from '../print.ts'

/** Means standard input or output. */
export const STANDARD_STREAM = '-'

export interface BackupFlags extends DataPlace {
  readonly output: string
}

/** Writes an instance into an archive. */
export async function backup({ output, ...place }: BackupFlags): Promise<void> {
  requireSqlite(place)
  const db = await openDataAsItIs(place)
  const { data } = place
  await removeLeftovers(data)
  const isPiped = output === STANDARD_STREAM
  // An existing archive is replaced only when the new one is complete.
  const draft = `${output}.${process.pid}.part`
  try {
    const target = isPiped ? process.stdout : await openDraft(draft)
    const source = {
      db,
      git: repositoriesOf(data),
      attachments: attachmentsOf(data),
      clock: systemClock,
    }
    const options = { snapshotFile: join(data, snapshotName(process.pid)), version: VERSION }
    const { repositories, files, attachments } = await writeBackup(source, target, options)
    if (isPiped) return
    await rename(draft, output)
    print(
      `wrote ${output}: ${repositories} repositories, ${files} of their files, ${attachments} attachments`,
    )
  } finally {
    if (!isPiped) await rm(draft, { force: true })
    await db.destroy()
  }
}

/**
 * Archives contain an SQLite database.
 *
 * @throws Error with a sentence for the operator.
 */
export function requireSqlite({ database }: DataPlace): void {
  if (database === undefined) return
  throw new Error(
    'backup and restore work with SQLite only: use pg_dump and pg_restore for the database, and copy the data folder',
  )
}

/** Creates a file, before a failure could remove it. */
async function openDraft(path: string): Promise<Writable> {
  const file = await open(path, 'w', 0o600)
  return file.createWriteStream({ flush: true })
}

/** The copy of the database while a backup runs. */
const snapshotName = (pid: number) => `backup.${pid}.db`
const SNAPSHOT = /^backup\.(\d+)\.db/

/** Removes the database copies of backups that were killed. */
async function removeLeftovers(data: string): Promise<void> {
  for (const name of await readdir(data)) {
    const pid = SNAPSHOT.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(data, name), { force: true })
  }
}

/** Returns whether a process exists, or may exist (kill(2)). */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
