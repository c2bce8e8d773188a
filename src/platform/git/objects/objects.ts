import { OBJECT_ID, type ObjectType } from '../core/object-ids.ts'
import { unlessAway, untilBack } from '../maintenance/limbo.ts'
import { ByteReader } from '../processes/byte-reader.ts'
import { type ReadOptions, readGit, streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { objectCacheOf } from './object-cache.ts'
import { MAX_READ_BYTES, ObjectFiles, type ObjectInfo, type StoredObject } from './object-files.ts'
import { type Evidence, ObjectPresence } from './object-presence.ts'

export type { ObjectInfo, StoredObject } from './object-files.ts'

/** An object that was read. */
interface CachedObject extends ObjectInfo {
  /** Undefined unless the object was read to its end and is small. */
  readonly content: Buffer | undefined
}

/** Memory of all cached objects, and of the largest one. */
const MAX_CACHE_BYTES = 32 * 1024 ** 2
const MAX_CACHED_BYTES = MAX_READ_BYTES

/**
 * Objects up to which a read looks into the cache. Each costs a system call on the event loop, so
 * that other calls would wait for many of them.
 */
const MAX_LOOKED_UP = 500

/**
 * Objects that one read inspects, or reads, from the files of the repository before it starts a Git
 * process for the others: the entries of a folder, the commits of a page.
 */
const MAX_INSPECTED_HERE = 1_000
const MAX_READ_HERE = 200

/** Memory of the objects that are read in this way before the first one is used. */
const MAX_BYTES_HERE = 4 * 1024 ** 2

const cacheIn = (repositories: Repositories) =>
  objectCacheOf<CachedObject>(
    repositories,
    'objects',
    MAX_CACHE_BYTES,
    ({ content }) => content?.length ?? 0,
  )

/** The cached objects of a repository, for one read. */
class KnownObjects {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #presence: ObjectPresence
  /** By object id: evidence from before the read. */
  readonly #missed = new Map<string, Evidence>()

  constructor(repositories: Repositories, id: number) {
    this.#repositories = repositories
    this.#id = id
    this.#presence = new ObjectPresence(repositories, id)
  }

  /** Returns what is known of an object. */
  inspect(objectId: string): CachedObject | undefined {
    const known = cacheIn(this.#repositories).get(this.#id, objectId, this.#presence)
    if (known === undefined) this.#missed.set(objectId, this.#presence.evidenceOf(objectId))
    return known
  }

  /** Returns an object whose content is known as far as `maxBytes`. */
  find(
    objectId: string,
    maxBytes: number | ((info: ObjectInfo) => number),
  ): StoredObject | undefined {
    const known = this.inspect(objectId)
    if (known === undefined) return undefined
    const { id, type, bytes, content } = known
    const limit = limitOf(maxBytes, known)
    if (content) return { id, type, bytes, content: content.subarray(0, limit) }
    if (limit <= 0) return { id, type, bytes, content: Buffer.alloc(0) }
    this.#missed.set(objectId, this.#presence.evidenceOf(objectId))
    return undefined
  }

  /** Keeps an object that was read after a look-up. */
  add({ id, type, bytes }: ObjectInfo, content?: Buffer): void {
    const before = this.#missed.get(id)
    if (before === undefined) return
    const isWhole = content?.length === bytes && bytes <= MAX_CACHED_BYTES
    // A small buffer from the pool of Node would keep its whole slab of 8 KiB in memory.
    const owned = isWhole ? Buffer.allocUnsafeSlow(bytes) : undefined
    if (owned) content?.copy(owned)
    const cached = { id, type, bytes, content: owned }
    cacheIn(this.#repositories).set(this.#id, id, cached, { before, presence: this.#presence })
  }
}

/** Returns the cached objects for a read of `count` objects. Undefined for too many of them. */
function knownObjects(
  repositories: Repositories,
  id: number,
  count: number,
): KnownObjects | undefined {
  return count > MAX_LOOKED_UP ? undefined : new KnownObjects(repositories, id)
}

function limitOf(maxBytes: number | ((info: ObjectInfo) => number), info: ObjectInfo): number {
  return typeof maxBytes === 'number' ? maxBytes : maxBytes(info)
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
  checkIds(ids)
  const objects = knownObjects(repositories, id, ids.length)
  const found = new Map<string, ObjectInfo>()
  const notCached = ids.filter((objectId) => {
    const known = objects?.inspect(objectId)
    if (known) found.set(objectId, known)
    return known === undefined
  })
  const unknown = await inspectFiles(repositories, id, notCached, (info) => {
    found.set(info.id, info)
    objects?.add(info)
  })
  for (const info of await askForInfo(repositories, id, unknown, options)) {
    found.set(info.id, info)
    objects?.add(info)
  }
  const missed = unknown.filter((objectId) => !found.has(objectId))
  if (!(await untilBack(repositories, id, missed))) return found
  for (const info of await askForInfo(repositories, id, missed, options)) found.set(info.id, info)
  return found
}

/** Asks Git for types and sizes of objects. Those that are missing are left out. */
async function askForInfo(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  options: Pick<ReadOptions, 'hasSlot'>,
): Promise<ObjectInfo[]> {
  if (ids.length === 0) return []
  const input = linesOf(ids)
  const chunks = readGit(repositories, id, ['cat-file', '--batch-check'], { ...options, input })
  const output = new ByteReader(chunks)
  const found: ObjectInfo[] = []
  for (let line = await output.line(); line !== undefined; line = await output.line()) {
    const info = infoOf(line)
    if (info) found.push(info)
  }
  return found
}

/** Inspects objects in the files of a repository, and returns the ids that are left for Git. */
async function inspectFiles(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  add: (info: ObjectInfo) => void,
): Promise<readonly string[]> {
  if (ids.length > MAX_INSPECTED_HERE) return ids
  const files = new ObjectFiles(repositories, id)
  const left: string[] = []
  try {
    for (const objectId of ids) {
      const info = await files.inspect(objectId)
      if (info) add(info)
      else left.push(objectId)
    }
    return left
  } finally {
    files.close()
  }
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
 * Yields objects in the order of their ids, without those that are not in the repository. Objects
 * that a prune had removed for a moment come last.
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
  checkIds(ids)
  const { alsoFrom, quarantine, scratch } = options
  const isForeign = [alsoFrom, quarantine, scratch].some((place) => place !== undefined)
  const objects = isForeign ? undefined : knownObjects(repositories, id, ids.length)
  const known = ids.map((objectId) => objects?.find(objectId, maxBytes))
  if (objects) await readFiles(repositories, id, { ids, known, objects, maxBytes })
  const unknown = ids.filter((_, i) => known[i] === undefined)
  const batch = readBatch(repositories, id, linesOf(unknown), maxBytes, options)
  const missed: string[] = []
  try {
    for (const [i, cached] of known.entries()) {
      const object = cached ?? (await batch.next()).value
      if (!object) {
        missed.push(ids[i] ?? '')
        continue
      }
      if (!cached) objects?.add(object, object.content)
      yield object
    }
  } finally {
    await batch.return()
  }
  if (!(await untilBack(repositories, id, missed))) return
  for await (const object of readBatch(repositories, id, linesOf(missed), maxBytes, options))
    if (object) yield object
}

/** Objects to read, and those that are known so far. */
interface PartlyRead {
  readonly ids: readonly string[]
  readonly known: (StoredObject | undefined)[]
  readonly objects: KnownObjects
  readonly maxBytes: number
}

/** Reads small objects, which are not known yet, from the files of a repository. */
async function readFiles(
  repositories: Repositories,
  id: number,
  { ids, known, objects, maxBytes }: PartlyRead,
): Promise<void> {
  const files = new ObjectFiles(repositories, id)
  let reads = 0
  let bytes = 0
  try {
    for (const [i, objectId] of ids.entries()) {
      if (known[i] !== undefined) continue
      if (reads >= MAX_READ_HERE || bytes >= MAX_BYTES_HERE) return
      reads += 1
      const object = await files.read(objectId)
      if (!object) continue
      bytes += object.bytes
      objects.add(object, object.content)
      known[i] = { ...object, content: object.content.subarray(0, maxBytes) }
    }
  } finally {
    files.close()
  }
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
  checkIds([objectId])
  return unlessAway(repositories, id, objectId, () =>
    findObject(repositories, id, objectId, maxBytes),
  )
}

async function findObject(
  repositories: Repositories,
  id: number,
  objectId: string,
  maxBytes: number | ((info: ObjectInfo) => number),
): Promise<StoredObject | undefined> {
  let limit: number | undefined
  // The function of the caller may reserve memory and must therefore be called once.
  const limitOnce = (info: ObjectInfo) => {
    limit ??= limitOf(maxBytes, info)
    return limit
  }
  const objects = new KnownObjects(repositories, id)
  const known = objects.find(objectId, limitOnce)
  if (known) return known
  const small = await readSmallObject(repositories, id, objectId, limitOnce)
  if (small) {
    objects.add(small.object, small.content)
    return small.object
  }
  const chunks = readGit(repositories, id, ['cat-file', '--batch'], { input: linesOf([objectId]) })
  try {
    const output = new ByteReader(chunks)
    const info = infoOf((await output.line()) ?? '')
    if (!info) return undefined
    const wanted = limitOnce(info)
    // The rest of a longer object is not read.
    const content = await output.bytes(Math.min(info.bytes, wanted), wanted)
    objects.add(info, content)
    return { ...info, content }
  } finally {
    await chunks.return()
  }
}

/** Reads an object from the files of a repository, if it is small or only its size is asked. */
async function readSmallObject(
  repositories: Repositories,
  id: number,
  objectId: string,
  limitFor: (info: ObjectInfo) => number,
): Promise<{ readonly object: StoredObject; readonly content: Buffer } | undefined> {
  const files = new ObjectFiles(repositories, id)
  try {
    const small = await files.read(objectId)
    const info = small ?? (await files.inspect(objectId))
    if (!info) return undefined
    const limit = limitFor(info)
    const content = small?.content ?? (limit <= 0 ? Buffer.alloc(0) : undefined)
    return content && { object: { ...info, content: content.subarray(0, limit) }, content }
  } finally {
    files.close()
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

function checkIds(ids: readonly string[]): void {
  const unfit = ids.find((id) => !OBJECT_ID.test(id))
  if (unfit !== undefined) throw new Error(`no object id: ${JSON.stringify(unfit)}`)
}

function linesOf(ids: readonly string[]): string {
  return ids.map((id) => `${id}\n`).join('')
}

/** Parses `id type size` or `id missing`. */
function infoOf(line: string): ObjectInfo | undefined {
  const [id = '', type = '', bytes] = line.split(' ')
  return bytes === undefined ? undefined : { id, type: type as ObjectType, bytes: Number(bytes) }
}
