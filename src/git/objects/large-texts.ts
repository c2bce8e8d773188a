import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit } from '../processes/child-process.ts'
import type { GitProcesses } from '../processes/running-processes.ts'

/**
 * Largest commit or tag. They are read whole, by whoever lists them, and nobody writes as much; but
 * a pack of a few KiB can have one of many hundred MiB, which takes down a process that makes a
 * string of it.
 */
export const MAX_COMMIT_BYTES = 1024 * 1024

/** For the headers of ten million objects. */
const TIMEOUT_MS = 5 * 60_000

/**
 * Looks for a commit or tag that is larger than one may be among new objects, of which git reads no
 * more than the headers.
 *
 * @param repository path of what the objects are for.
 * @param objects path of the folder that they are in; with the folders that it borrows from.
 * @returns the id of one; undefined when there is none.
 */
export async function findLargeText(
  processes: GitProcesses,
  repository: string,
  objects: string,
): Promise<string | undefined> {
  const format = '%(objecttype) %(objectsize) %(objectname)'
  const args = ['cat-file', '--batch-all-objects', '--unordered', `--batch-check=${format}`]
  const limits = { timeoutMs: TIMEOUT_MS }
  const chunks = printedByGit(args, {
    processes,
    repository,
    env: { GIT_OBJECT_DIRECTORY: objects },
    ...limits,
  })
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const [type, bytes, id] = line.split(' ')
      if ((type === 'commit' || type === 'tag') && Number(bytes) > MAX_COMMIT_BYTES) return id
    }
    return undefined
  } finally {
    await chunks.return()
  }
}
