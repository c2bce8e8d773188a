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

/** Type and size of an object, which its header tells. */
interface ListedObject {
  readonly type: string
  readonly bytes: number
  readonly id: string
}

/**
 * Yields all objects of a folder in no order. Git reads only the headers of the objects.
 *
 * @param repository path of the repository.
 * @param objects path of the folder of objects. Its alternates are listed too.
 */
export async function* listedObjects(
  processes: GitProcesses,
  repository: string,
  objects: string,
): AsyncGenerator<ListedObject, void, undefined> {
  const format = '%(objecttype) %(objectsize) %(objectname)'
  const args = ['cat-file', '--batch-all-objects', '--unordered', `--batch-check=${format}`]
  const chunks = printedByGit(args, {
    processes,
    repository,
    env: { GIT_OBJECT_DIRECTORY: objects },
    timeoutMs: TIMEOUT_MS,
  })
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const [type = '', bytes, id = ''] = line.split(' ')
      yield { type, bytes: Number(bytes), id }
    }
  } finally {
    await chunks.return()
  }
}

/**
 * Searches new objects for a commit or tag that exceeds `MAX_COMMIT_BYTES`, or a file that exceeds
 * `maxFileBytes`. The other parameters are those of `listedObjects`.
 *
 * @returns such an object, or undefined.
 */
export async function findLargeObject(
  processes: GitProcesses,
  repository: string,
  objects: string,
  maxFileBytes = Number.POSITIVE_INFINITY,
): Promise<ListedObject | undefined> {
  for await (const object of listedObjects(processes, repository, objects)) {
    const { type, bytes } = object
    const limit = type === 'blob' ? maxFileBytes : MAX_COMMIT_BYTES
    if (type !== 'tree' && bytes > limit) return object
  }
  return undefined
}
