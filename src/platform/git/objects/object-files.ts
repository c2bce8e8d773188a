import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { constants, inflateSync } from 'node:zlib'
import type { ObjectType } from '../core/object-ids.ts'
import { hasCode } from '../core/system-errors.ts'
import { copyWork, ENTRY_WORK, type ReadBudget } from '../processes/read-work.ts'
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

/** Largest object whose content is read. */
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
 * objects of alternates, reads large objects in parts, applies the deltas that cost more work than an
 * object or the request may cost, and reports damage.
 *
 * Each read waits until the event loop has time.
 */
export class ObjectFiles {
  readonly #folder: string
  readonly #packs: PackFiles
  readonly #budget: ReadBudget

  constructor(repositories: Repositories, id: number) {
    this.#folder = join(repositoryPath(repositories, id), 'objects')
    this.#budget = repositories.readTurns.budget()
    this.#packs = new PackFiles(this.#folder, this.#budget)
  }

  /** Runs a step of work on what was read when the event loop has time. The step counts the work. */
  run<T>(step: () => T): Promise<T> {
    return this.#budget.run(step)
  }

  /** Counts work on what was read. Returns false when the request has used up its work. */
  note(work: number): boolean {
    this.#budget.note(work)
    return !this.#budget.isSpent
  }

  /** Returns type and size of an object of any size. */
  inspect(objectId: string): Promise<ObjectInfo | undefined> {
    return this.#unlessUnfit(() => {
      const loose = this.#readLoose(objectId, START_BYTES)
      if (loose) return infoOf(objectId, this.#inflateStart(loose.compressed))
      const place = this.#packs.find(objectId)
      const info = place && this.#packs.inspect(place)
      return info && { id: objectId, ...info }
    })
  }

  /** Returns a whole object of at most `MAX_READ_BYTES`. */
  read(objectId: string): Promise<StoredObject | undefined> {
    return this.#unlessUnfit(() => {
      const loose = this.#readLoose(objectId, MAX_READ_BYTES)
      const object = loose ? this.#wholeObject(objectId, loose) : this.#readPacked(objectId)
      this.#budget.spend(copyWork(object?.bytes ?? 0))
      return object && isIntact(object) ? object : undefined
    })
  }

  /** Closes the files. */
  close(): void {
    this.#packs.close()
  }

  /**
   * Returns undefined for damaged files, for files that `git gc` removes during the read, and for
   * too much work. Git reads such an object again and reports what is wrong.
   */
  #unlessUnfit<T>(read: () => T | undefined): Promise<T | undefined> {
    return this.#budget.run(() => {
      try {
        this.#budget.begin()
        return read()
      } catch {
        return undefined
      }
    })
  }

  #readPacked(objectId: string): StoredObject | undefined {
    const place = this.#packs.find(objectId)
    const object = place && this.#packs.read(place, MAX_READ_BYTES)
    return object && { id: objectId, ...object, bytes: object.content.length }
  }

  /** Returns the beginning of the file of an object. */
  #readLoose(objectId: string, maxBytes: number): Loose | undefined {
    this.#budget.spend(ENTRY_WORK)
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

  #wholeObject(id: string, { compressed, isWhole }: Loose): StoredObject | undefined {
    const info = infoOf(id, this.#inflateStart(compressed.subarray(0, START_BYTES)))
    if (!isWhole || !info || info.bytes > MAX_READ_BYTES) return undefined
    // A stream that is longer than its header says fails.
    const maxOutputLength = info.bytes + MAX_HEADER_BYTES
    this.#budget.spend(maxOutputLength)
    const bytes = inflateSync(compressed, { maxOutputLength })
    const content = bytes.subarray(bytes.indexOf(0) + 1)
    return content.length === info.bytes ? { ...info, content } : undefined
  }

  #inflateStart(compressed: Buffer): Buffer {
    const start = inflateSync(compressed, { finishFlush: constants.Z_SYNC_FLUSH })
    this.#budget.spend(start.length)
    return start
  }
}

/** The beginning of the file of an object, or all of it. */
interface Loose {
  readonly compressed: Buffer
  readonly isWhole: boolean
}

function infoOf(id: string, start: Buffer): ObjectInfo | undefined {
  const [, type, bytes] = HEADER.exec(start.toString('latin1', 0, MAX_HEADER_BYTES)) ?? []
  return type === undefined ? undefined : { id, type: type as ObjectType, bytes: Number(bytes) }
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
