import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit } from '../processes/child-process.ts'
import type { GitProcesses } from '../processes/running-processes.ts'

/**
 * Largest commit or tag. A pack of a few KiB can contain a commit of several hundred MiB, and a
 * process that reads it into a string would crash.
 */
export const MAX_COMMIT_BYTES = 1024 * 1024

/** Enough to read the headers of ten million objects. */
const TIMEOUT_MS = 5 * 60_000

/**
 * Searches new objects for a commit or tag that exceeds `MAX_COMMIT_BYTES`. Git reads only the
 * headers of the objects.
 *
 * @param repository path of the repository.
 * @param objects path of the folder of objects. Its alternates are searched too.
 * @returns the id of such an object, or undefined.
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
