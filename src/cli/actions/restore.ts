import { createReadStream } from 'node:fs'
import { restoreBackup } from '../../domain/maintenance/restore.ts'
import { print } from '../print.ts'
import { STANDARD_STREAM } from './backup.ts'

export interface RestoreFlags {
  readonly data: string
  readonly input: string
}

/** Creates a data folder from an archive. */
export async function restore({ data, input }: RestoreFlags): Promise<void> {
  const source = input === STANDARD_STREAM ? process.stdin : createReadStream(input)
  const { timeMs, version } = await restoreBackup(source, data)
  print(`restored ${data} as it was at ${new Date(timeMs).toISOString()}, by Branchline ${version}`)
}
