import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { constants, inflateSync } from 'node:zlib'
import type { ObjectType } from '../core/object-ids.ts'
import { hasCode } from '../core/system-errors.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { PackFiles } from './pack-files.ts'

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

/** Largest object whose content is read. The work blocks the event loop for a millisecond. */
export const MAX_READ_BYTES = 256 * 1024

/** Header before the content: type and size. */
const HEADER = /^(commit|tree|blob|tag) (0|[1-9][0-9]{0,15})\0/
const MAX_HEADER_BYTES = 32

/** Compressed bytes of a loose object that contain the header. */
const START_BYTES = 96

/**
 * Reads small objects of a repository from its files (gitformat-loose(5), gitformat-pack(5)),
 * without a Git process. A process costs as much as reading fifty objects here.
 *
 * An undefined result says nothing about the object. The caller then asks Git, which also knows
 * objects of alternates, reads large objects in parts, and reports damage.
 */
export class ObjectFiles {
  readonly #folder: string
  readonly #packs: PackFiles

  constructor(repositories: Repositories, id: number) {
    this.#folder = join(repositoryPath(repositories, id), 'objects')
    this.#packs = new PackFiles(this.#folder)
  }

  /** Returns type and size of an object of any size. */
  inspect(objectId: string): ObjectInfo | undefined {
    return unlessDamaged(() => {
      const loose = this.#readLoose(objectId, START_BYTES)
      if (loose) return infoOf(objectId, inflateStart(loose.compressed))
      const place = this.#packs.find(objectId)
      const info = place && this.#packs.inspect(place)
      return info && { id: objectId, ...info }
    })
  }

  /** Returns a whole object of at most `MAX_READ_BYTES`. */
  read(objectId: string): StoredObject | undefined {
    return unlessDamaged(() => {
      const loose = this.#readLoose(objectId, MAX_READ_BYTES)
      const object = loose ? wholeObject(objectId, loose) : this.#readPacked(objectId)
      return object && isIntact(object) ? object : undefined
    })
  }

  /** Closes the files. */
  close(): void {
    this.#packs.close()
  }

  #readPacked(objectId: string): StoredObject | undefined {
    const place = this.#packs.find(objectId)
    const object = place && this.#packs.read(place, MAX_READ_BYTES)
    return object && { id: objectId, ...object, bytes: object.content.length }
  }

  /** Returns the beginning of the file of an object. */
  #readLoose(objectId: string, maxBytes: number): Loose | undefined {
    const file = openIfThere(join(this.#folder, objectId.slice(0, 2), objectId.slice(2)))
    if (file === undefined) return undefined
    try {
      const { size } = fstatSync(file)
      const compressed = Buffer.allocUnsafe(Math.min(size, maxBytes))
      const length = readSync(file, compressed, 0, compressed.length, 0)
      return { compressed: compressed.subarray(0, length), isWhole: length === size }
    } finally {
      closeSync(file)
    }
  }
}

/** The beginning of the file of an object, or all of it. */
interface Loose {
  readonly compressed: Buffer
  readonly isWhole: boolean
}

function wholeObject(id: string, { compressed, isWhole }: Loose): StoredObject | undefined {
  const info = infoOf(id, inflateStart(compressed.subarray(0, START_BYTES)))
  if (!isWhole || !info || info.bytes > MAX_READ_BYTES) return undefined
  const bytes = inflateSync(compressed, { maxOutputLength: MAX_READ_BYTES + MAX_HEADER_BYTES })
  const content = bytes.subarray(bytes.indexOf(0) + 1)
  return content.length === info.bytes ? { ...info, content } : undefined
}

function infoOf(id: string, start: Buffer): ObjectInfo | undefined {
  const [, type, bytes] = HEADER.exec(start.toString('latin1', 0, MAX_HEADER_BYTES)) ?? []
  return type === undefined ? undefined : { id, type: type as ObjectType, bytes: Number(bytes) }
}

function inflateStart(compressed: Buffer): Buffer {
  return inflateSync(compressed, { finishFlush: constants.Z_SYNC_FLUSH })
}

function isIntact({ id, type, bytes, content }: StoredObject): boolean {
  const hash = createHash('sha1').update(`${type} ${bytes}\0`).update(content)
  return hash.digest('hex') === id
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/**
 * Returns undefined for damaged files, and for files that `git gc` removes during the read. Git
 * reads such an object again and reports what is wrong.
 */
function unlessDamaged<T>(read: () => T | undefined): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
