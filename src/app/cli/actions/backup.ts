import { open, rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { writeBackup } from '../../../forge/administration/backup.ts'
import { VERSION } from '../../../forge/core/version.ts'
import { attachmentsOf, type DataPlace, openDataAsItIs, repositoriesOf } from '../../data-folder.ts'
import { systemClock } from '../../server/app.ts'
import { print } from '../print.ts'
import { describeProgress, reportProgress } from './progress.ts'

/** Means standard input or output. */
export const STANDARD_STREAM = '-'

export interface BackupFlags extends DataPlace {
  readonly output: string
}

/** Writes an instance into an archive. */
export async function backup({ output, ...place }: BackupFlags): Promise<void> {
  const db = await openDataAsItIs(place)
  const { data } = place
  const isPiped = output === STANDARD_STREAM
  // An existing archive is replaced only when the new one is complete.
  const draft = `${output}.${process.pid}.part`
  const { progress, stop } = reportProgress()
  try {
    const target = isPiped ? process.stdout : await openDraft(draft)
    const source = {
      db,
      git: repositoriesOf(data),
      attachments: attachmentsOf(data),
      clock: systemClock,
    }
    await writeBackup(source, target, { version: VERSION, progress })
    if (isPiped) return
    await rename(draft, output)
    print(`wrote ${output}: ${describeProgress(progress)}`)
  } finally {
    stop()
    if (!isPiped) await rm(draft, { force: true })
    await db.destroy()
  }
}

/** Creates a file, before a failure could remove it. */
async function openDraft(path: string): Promise<Writable> {
  const file = await open(path, 'w', 0o600)
  return file.createWriteStream({ flush: true })
}
