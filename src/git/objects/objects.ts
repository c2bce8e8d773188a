import type { ObjectType } from '../core/object-ids.ts'
import { OBJECT_ID } from '../core/object-ids.ts'
import { ByteReader } from '../processes/byte-reader.ts'
import { type ReadOptions, readGit, streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** What an object is, without what is in it. */
export interface ObjectInfo {
  /** In full, whatever it was asked for by. */
  readonly id: string
  readonly type: ObjectType
  readonly bytes: number
}

export interface StoredObject extends ObjectInfo {
  /** As stored, without Git's header; of an object beyond what was asked for its beginning. */
  readonly content: Buffer
}

/**
 * What objects are, by their ids; those that are not in the repository are left out.
 *
 * Whatever is in the folder of the repository is found, whether a ref leads to it or not: what was
 * pushed once stays readable by its id until it is collected.
 *
 * @param ids in full.
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

/** What an object is, by its id. */
export async function inspectObject(
  repositories: Repositories,
  id: number,
  objectId: string,
): Promise<ObjectInfo | undefined> {
  return (await inspectObjects(repositories, id, [objectId])).get(objectId)
}

/**
 * Objects by their ids, in the order of the ids; those that are not in the repository are left out.
 *
 * @param ids in full.
 * @param maxBytes kept of each.
 * @param options where else the objects may be, and how long to read.
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
 * What refs hold, in their order; undefined where one does not exist, or its object is lost.
 *
 * Where there is no such ref Git looks for other meanings of the name (gitrevisions(7)), and may
 * find some other object.
 *
 * @param names in full, of refs that are there or were: Git takes no name in which anything is an
 *   operator.
 * @param maxBytes kept of each object.
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

/**
 * Objects by the lines of an input that name them, in order; undefined for each that is not there.
 */
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
      // The line feed behind it.
      await output.bytes(1, 0)
      yield { ...info, content }
    }
  } finally {
    await chunks.return()
  }
}

/**
 * One object by its id.
 *
 * @param maxBytes where its content is cut; or what says so once its size is known, before any of
 *   it is read. What that throws is thrown.
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
    const kept = typeof maxBytes === 'number' ? maxBytes : maxBytes(info)
    // The rest of a long one is not even read.
    return { ...info, content: await output.bytes(Math.min(info.bytes, kept), kept) }
  } finally {
    await chunks.return()
  }
}

/**
 * The bytes of a blob of any size, as fast as they are taken.
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

/** `id type size`, or `id missing`. */
function infoOf(line: string): ObjectInfo | undefined {
  const [id = '', type = '', bytes] = line.split(' ')
  return bytes === undefined ? undefined : { id, type: type as ObjectType, bytes: Number(bytes) }
}
