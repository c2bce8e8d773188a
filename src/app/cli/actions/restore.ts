import { createReadStream } from 'node:fs'
import { restoreBackup } from '../../../forge/administration/restore.ts'
import type { DataPlace } from '../../data-folder.ts'
import { openRestoreTarget } from '../../restore-target.ts'
import { print } from '../print.ts'
import { STANDARD_STREAM } from './backup.ts'
import { describeProgress, reportProgress } from './progress.ts'

export interface RestoreFlags extends DataPlace {
  readonly input: string
}

/** Creates an instance from an archive. */
export async function restore({ input, ...place }: RestoreFlags): Promise<void> {
  const { data } = place
  const target = await openRestoreTarget(place)
  const { progress, stop } = reportProgress()
  try {
    if (target.wasFinished) {
      print(`finished the interrupted restore of ${data}`)
      return
    }
    const source = input === STANDARD_STREAM ? process.stdin : createReadStream(input)
    const { timeMs, version } = await restoreBackup(source, target, progress)
    const time = new Date(timeMs).toISOString()
    print(`restored ${data} as it was at ${time}, by Branchline ${version}`)
    print(describeProgress(progress))
  } finally {
    stop()
    await target.release()
  }
}
