import { OBJECT_ID, type ObjectType } from '../core/object-ids.ts'
import { ByteReader } from '../processes/byte-reader.ts'
import { type ReadOptions, readGit, streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** An object without its content. */
export interface ObjectInfo {
  /** Full id. */
  readonly id: string
  readonly type: ObjectType
  readonly bytes: number
}

export interface StoredObject extends ObjectInfo {
  /** Content as stored, without Git's header. Truncated when the object exceeds the limit. */
  readonly content: Buffer
}

/**
 * Returns types and sizes of objects by id, without those that are not in the repository.
 *
 * Unreachable objects count too: a pushed object stays readable by its id until it is collected.
 *
 * @param ids full ids.
 * @throws GitError BUSY, TIMEOUT
 */
export async function inspectObjects(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  options: Pick<ReadOptions, 'hasSlot'> = {},
): Promise<ReadonlyMap<string, ObjectInfo>> {
  const found = new Map<string, ObjectInfo>()
  if (ids.length === 0) return found
  const chunks = readGit(repositories, id, ['cat-file', '--batch-check'], {
    ...options,
    input: linesOf(ids),
  })
  const output = new ByteReader(chunks)
  for (let line = await output.line(); line !== undefined; line = await output.line()) {
    const info = infoOf(line)
    if (info) found.set(info.id, info)
  }
  return found
}

/** Returns type and size of an object, or undefined when it is not in the repository. */
export async function inspectObject(
  repositories: Repositories,
  id: number,
  objectId: string,
): Promise<ObjectInfo | undefined> {
  return (await inspectObjects(repositories, id, [objectId])).get(objectId)
}

/**
 * Yields objects in the order of their ids, without those that are not in the repository.
 *
 * @param ids full ids.
 * @param maxBytes limit of the content of each object.
 * @throws GitError BUSY, TIMEOUT
 */
export async function* readObjects(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  maxBytes: number,
  options: Omit<ReadOptions, 'input'> = {},
): AsyncGenerator<StoredObject, void, undefined> {
  const batch = readBatch(repositories, id, linesOf(ids), maxBytes, options)
  for await (const object of batch) if (object) yield object
}

/**
 * Yields the objects that refs point to, in the order of the refs. Yields undefined for a ref that
 * does not exist or whose object is lost.
 *
 * When a ref does not exist, Git interprets its name in other ways (gitrevisions(7)) and may find
 * another object.
 *
 * @param names full names of refs that exist or existed, which therefore contain no operators.
 * @param maxBytes limit of the content of each object.
 * @throws GitError BUSY, TIMEOUT
 */
export function readRefObjects(
  repositories: Repositories,
  id: number,
  names: readonly string[],
  maxBytes: number,
): AsyncGenerator<StoredObject | undefined, void, undefined> {
  return readBatch(repositories, id, linesOf(names, /^refs\/[^\n]+$/), maxBytes)
}

/** Yields an object, or undefined, for each line of the input. */
async function* readBatch(
  repositories: Repositories,
  id: number,
  input: string,
  maxBytes: number,
  options: Omit<ReadOptions, 'input'> = {},
): AsyncGenerator<StoredObject | undefined, void, undefined> {
  if (input === '') return
  const chunks = readGit(repositories, id, ['cat-file', '--batch'], { ...options, input })
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const info = infoOf(line)
      if (!info) {
        yield undefined
        continue
      }
      const content = await output.bytes(info.bytes, maxBytes)
      // A line feed follows the content.
      await output.bytes(1, 0)
      yield { ...info, content }
    }
  } finally {
    await chunks.return()
  }
}

/**
 * Returns an object, or undefined when it is not in the repository.
 *
 * @param maxBytes limit of the content, or a function that returns the limit from the size. The
 *   function may throw an error, which passes to the caller before any content is read.
 */
export async function readObject(
  repositories: Repositories,
  id: number,
  objectId: string,
  maxBytes: number | ((info: ObjectInfo) => number),
): Promise<StoredObject | undefined> {
  const chunks = readGit(repositories, id, ['cat-file', '--batch'], { input: linesOf([objectId]) })
  try {
    const output = new ByteReader(chunks)
    const info = infoOf((await output.line()) ?? '')
    if (!info) return undefined
    const limit = typeof maxBytes === 'number' ? maxBytes : maxBytes(info)
    // The rest of a longer object is not read.
    return { ...info, content: await output.bytes(Math.min(info.bytes, limit), limit) }
  } finally {
    await chunks.return()
  }
}

/**
 * Streams the content of a blob of any size.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function streamBlob(
  repositories: Repositories,
  id: number,
  blobId: string,
): AsyncGenerator<Buffer, void, undefined> {
  return streamGit(repositories, id, ['cat-file', 'blob', blobId])
}

function linesOf(names: readonly string[], form = OBJECT_ID): string {
  const unfit = names.find((name) => !form.test(name))
  if (unfit !== undefined) throw new Error(`no object id or ref: ${JSON.stringify(unfit)}`)
  return names.map((name) => `${name}\n`).join('')
}

/** Parses `id type size` or `id missing`. */
function infoOf(line: string): ObjectInfo | undefined {
  const [id = '', type = '', bytes] = line.split(' ')
  return bytes === undefined ? undefined : { id, type: type as ObjectType, bytes: Number(bytes) }
}
