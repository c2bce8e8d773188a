import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { checkStorage } from '../../../forge/administration/storage-check.ts'
import type { DataPlace } from '../../data-folder.ts'
import { print } from '../print.ts'

/** Beside the bundle of this file. */
const STORAGE_PEER = fileURLToPath(new URL('./storage-peer.js', import.meta.url))

/** Tests the file system of a data folder. Sets the exit code 1 when a property is missing. */
export async function examineStorage({ data }: Pick<DataPlace, 'data'>): Promise<void> {
  await stat(data).catch(() => {
    throw new Error(`there is no ${data}: --data names the folder of an instance, or a new folder`)
  })
  let missing = 0
  for await (const { name, isMissing, text } of checkStorage(data, STORAGE_PEER)) {
    print(`${isMissing ? 'missing' : 'ok'}: ${name}${text === undefined ? '' : ` (${text})`}`)
    if (isMissing) missing += 1
  }
  print(missing === 0 ? 'nothing is missing' : `${missing} missing`)
  if (missing > 0) process.exitCode = 1
}
