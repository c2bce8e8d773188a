import { createReadStream } from 'node:fs'
import type { DataPlace } from '../../data-folder.ts'
import { restoreBackup } from '../../domain/maintenance/restore.ts'
import { print } from '../print.ts'
import { requireSqlite, STANDARD_STREAM } from './backup.ts'

export interface RestoreFlags extends DataPlace {
  readonly input: string
}

/** Creates a data folder from an archive. */
export async function restore({ input, ...place }: RestoreFlags): Promise<void> {
  requireSqlite(place)
  const { data } = place
  const source = input === STANDARD_STREAM ? process.stdin : createReadStream(input)
  const { timeMs, version } = await restoreBackup(source, data)
  print(`restored ${data} as it was at ${new Date(timeMs).toISOString()}, by Branchline ${version}`)
}
