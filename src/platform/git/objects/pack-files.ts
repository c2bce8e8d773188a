import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { constants, inflateSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { ObjectType } from '../core/object-ids.ts'
import { copyWork, ENTRY_WORK, INSTRUCTION_WORK, type ReadBudget } from '../processes/read-work.ts'

/** Packs in which an object is looked up. Git finds an object among more packs faster. */
const MAX_PACKS = 32

/** Longest chain of deltas. Git makes chains of at most 50 by default. */
const MAX_DELTAS = 100

/** Work to read the header of an entry. */
const HEADER_WORK = ENTRY_WORK / 8

/** Start of an index of version 2, and positions in it (gitformat-pack(5)). */
const INDEX_HEADER = Buffer.from('ff744f6300000002', 'hex')
const FAN_OUT = 8
const IDS = FAN_OUT + 256 * 4
const ID_BYTES = 20
const CHECKSUM_BYTES = 4
const OFFSET_BYTES = 4

/** Marks an offset beyond 2 GiB. */
const LARGE_OFFSET = 0x80000000

/** Ids of an index that are read at once. */
const IDS_AT_ONCE = 128

/** Work to look an id up in an index: a few short reads. */
const LOOKUP_WORK = ENTRY_WORK / 4

/** Types of the entries of a pack. */
const TYPES: ReadonlyMap<number, ObjectType> = new Map([
  [1, 'commit'],
  [2, 'tree'],
  [3, 'blob'],
  [4, 'tag'],
])
const DELTA_TO_OFFSET = 6
const DELTA_TO_ID = 7

/** The longest header: a size of ten bytes and the id of a base. */
const MAX_HEADER_BYTES = 32

/** Memory of the objects that a later delta may apply to: the versions of a tree are a chain. */
const MAX_BASES_BYTES = 2 * 1024 ** 2

/** Compressed bytes that contain the two sizes at the start of a delta. */
const DELTA_START_BYTES = 64

/** A pack with the files that have been opened. */
interface Pack {
  readonly path: string
  index?: Index
  data?: number
}

/** An index, with the number of ids up to each first byte. */
interface Index {
  readonly file: number
  readonly fanOut: Buffer
}

/** Where an object is. */
interface Place {
  readonly pack: Pack
  readonly offset: number
}

/** An entry of a pack without its data. */
interface Entry {
  readonly at: number
  readonly type: number
  /** Length of the data after decompression. */
  readonly bytes: number
  /** Position of the entry that a delta applies to. */
  readonly baseAt: number | undefined
  readonly dataAt: number
}

/** An object, to which deltas may apply. */
interface PackedObject {
  readonly type: ObjectType
  readonly content: Buffer
}

/** An entry, the entry that its delta applies to, and so on, up to one that was read before. */
interface Chain {
  readonly entries: readonly Entry[]
  /** Undefined when the last entry is no delta. */
  readonly base: PackedObject | undefined
}

/**
 * The packs of a repository, for one read. All functions throw any error for damaged files, and for
 * files that are removed during the read.
 */
export class PackFiles {
  readonly #folder: string
  readonly #budget: ReadBudget
  #packs: readonly Pack[] | undefined
  /** By pack and position. */
  #bases: LRUCache<string, PackedObject> | undefined

  /**
   * @param folder `objects` of a repository.
   * @param budget what exceeds it fails.
   */
  constructor(folder: string, budget: ReadBudget) {
    this.#folder = join(folder, 'pack')
    this.#budget = budget
  }

  /** Returns where an object is. Undefined when it is in none of the packs, or in too many. */
  find(objectId: string): Place | undefined {
    const id = Buffer.from(objectId, 'hex')
    this.#packs ??= packsOf(this.#folder)
    for (const pack of this.#packs) {
      this.#budget.spend(LOOKUP_WORK)
      const offset = offsetOf(indexOf(pack), id)
      if (offset !== undefined) return { pack, offset }
    }
    return undefined
  }

  /** Returns type and size of an object. */
  inspect(place: Place): { type: ObjectType; bytes: number } | undefined {
    const chain = this.#chainOf(place)
    const type = typeOf(chain)
    const [outer] = chain.entries
    if (!outer) return chain.base && { type, bytes: chain.base.content.length }
    if (outer.baseAt === undefined) return { type, bytes: outer.bytes }
    this.#budget.spend(ENTRY_WORK)
    const compressed = readAt(dataOf(place.pack), outer.dataAt, DELTA_START_BYTES)
    const start = inflateSync(compressed, { finishFlush: constants.Z_SYNC_FLUSH })
    this.#budget.spend(start.length)
    return { type, bytes: sizeAfterDelta(start) }
  }

  /**
   * Returns an object. Undefined when the object or a base exceeds the limit, and when Git must
   * apply the deltas.
   */
  read(place: Place, maxBytes: number): PackedObject | undefined {
    const chain = this.#chainOf(place)
    const type = typeOf(chain)
    if (chain.entries.some(({ bytes }) => bytes > maxBytes)) return undefined
    const inflated = chain.entries.reduce((work, { bytes }) => work + ENTRY_WORK + bytes, 0)
    if (inflated > this.#budget.objectLeft) return undefined
    let content = chain.base?.content
    for (const entry of chain.entries.toReversed()) {
      this.#budget.spend(ENTRY_WORK + entry.bytes)
      const data = inflateAt(dataOf(place.pack), entry)
      content = content ? this.#apply(content, data, maxBytes) : data
      if (!content) return undefined
      this.#bases ??= new LRUCache({
        maxSize: MAX_BASES_BYTES,
        sizeCalculation: (base) => Math.max(base.content.length, 1),
      })
      this.#bases.set(keyOf(place.pack, entry.at), { type, content })
    }
    return content && { type, content }
  }

  #apply(base: Buffer, delta: Buffer, maxBytes: number): Buffer | undefined {
    this.#budget.spend(copyWork(Math.min(sizeAfterDelta(delta), maxBytes)))
    const maxInstructions = Math.floor(this.#budget.objectLeft / INSTRUCTION_WORK)
    const { content, instructions } = applyDelta(base, delta, { maxBytes, maxInstructions })
    this.#budget.spend(instructions * INSTRUCTION_WORK)
    return content
  }

  close(): void {
    for (const { index, data } of this.#packs ?? []) {
      if (index !== undefined) closeSync(index.file)
      if (data !== undefined) closeSync(data)
    }
    this.#packs = undefined
  }

  #chainOf({ pack, offset }: Place): Chain {
    const entries: Entry[] = []
    for (let at: number | undefined = offset; at !== undefined; at = entries.at(-1)?.baseAt) {
      const base = this.#bases?.get(keyOf(pack, at))
      if (base) return { entries, base }
      if (entries.length > MAX_DELTAS) throw new Error('a long chain of deltas')
      this.#budget.spend(HEADER_WORK)
      entries.push(entryAt(pack, at))
    }
    return { entries, base: undefined }
  }
}

function typeOf({ entries, base }: Chain): ObjectType {
  const type = base?.type ?? TYPES.get(entries.at(-1)?.type ?? 0)
  if (type === undefined) throw new Error('a delta without a base')
  return type
}

function keyOf({ path }: Pack, offset: number): string {
  return `${path} ${offset}`
}

function packsOf(folder: string): Pack[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.idx'))
  if (names.length > MAX_PACKS) return []
  return names.map((name) => ({ path: join(folder, name.slice(0, -'.idx'.length)) }))
}

function indexOf(pack: Pack): Index {
  if (pack.index) return pack.index
  const file = openSync(`${pack.path}.idx`, 'r')
  const fanOut = readAt(file, 0, IDS)
  pack.index = { file, fanOut }
  return pack.index
}

function dataOf(pack: Pack): number {
  pack.data ??= openSync(`${pack.path}.pack`, 'r')
  return pack.data
}

/** Looks an object up in an index. */
function offsetOf({ file, fanOut }: Index, id: Buffer): number | undefined {
  if (!fanOut.subarray(0, FAN_OUT).equals(INDEX_HEADER)) throw new Error('an unknown index')
  const first = id[0] ?? 0
  let start = first === 0 ? 0 : fanOut.readUInt32BE(FAN_OUT + (first - 1) * 4)
  let end = fanOut.readUInt32BE(FAN_OUT + first * 4)
  const count = fanOut.readUInt32BE(FAN_OUT + 255 * 4)
  const idsAt = (position: number, ids: number) =>
    readAt(file, IDS + position * ID_BYTES, ids * ID_BYTES)
  while (end - start > IDS_AT_ONCE) {
    const middle = (start + end) >>> 1
    if (idsAt(middle, 1).compare(id) > 0) end = middle
    else start = middle
  }
  if (end <= start) return undefined
  const found = positionIn(idsAt(start, end - start), id)
  if (found === undefined) return undefined
  const offsets = IDS + count * (ID_BYTES + CHECKSUM_BYTES)
  const offset = readAt(file, offsets + (start + found) * OFFSET_BYTES, 4).readUInt32BE()
  if (offset < LARGE_OFFSET) return offset
  const large = offsets + count * OFFSET_BYTES + (offset - LARGE_OFFSET) * 8
  return Number(readAt(file, large, 8).readBigUInt64BE())
}

/** Finds an id in sorted ids. */
function positionIn(ids: Buffer, id: Buffer): number | undefined {
  let low = 0
  let high = ids.length / ID_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * ID_BYTES
    const order = ids.compare(id, 0, ID_BYTES, at, at + ID_BYTES)
    if (order === 0) return middle
    if (order > 0) high = middle
    else low = middle + 1
  }
  return undefined
}

function entryAt(pack: Pack, offset: number): Entry {
  const header = readAt(dataOf(pack), offset, MAX_HEADER_BYTES)
  let position = 0
  const next = () => header.readUInt8(position++)
  let byte = next()
  const type = (byte >>> 4) & 7
  let bytes = byte & 0x0f
  for (let factor = 16; byte >= 0x80; factor *= 128) {
    byte = next()
    bytes += (byte & 0x7f) * factor
  }
  let baseAt: number | undefined
  if (type === DELTA_TO_OFFSET) {
    byte = next()
    let distance = byte & 0x7f
    while (byte >= 0x80) {
      byte = next()
      distance = (distance + 1) * 128 + (byte & 0x7f)
    }
    baseAt = offset - distance
  } else if (type === DELTA_TO_ID) {
    baseAt = offsetOf(indexOf(pack), header.subarray(position, position + ID_BYTES))
    if (baseAt === undefined) throw new Error('a pack without the base of a delta')
    position += ID_BYTES
  } else if (!TYPES.has(type)) {
    throw new Error('an unknown type of entry')
  }
  return { at: offset, type, bytes, baseAt, dataAt: offset + position }
}

function inflateAt(data: number, { bytes, dataAt }: Entry): Buffer {
  // Compression makes no data longer than this (`deflateBound` in deflate.c of zlib).
  const compressed = readAt(data, dataAt, bytes + (bytes >>> 3) + 64)
  const content = inflateSync(compressed, { maxOutputLength: Math.max(bytes, 1) })
  if (content.length !== bytes) throw new Error('an entry of another length')
  return content
}

/** Reads a part of a file, which may end earlier. */
function readAt(descriptor: number, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  return buffer.subarray(0, readSync(descriptor, buffer, 0, length, position))
}

/** The result of a delta, and what it took. */
interface Applied {
  /** Undefined for a delta that does not fit its base, and for one that exceeds a limit. */
  readonly content: Buffer | undefined
  readonly instructions: number
}

/** Limits of the result of a delta, and of its instructions. */
interface DeltaLimits {
  readonly maxBytes: number
  readonly maxInstructions: number
}

/** Marks a copy. The other bits tell which bytes of offset and length follow. */
const COPY = 0x80

/** A length that no instruction can name otherwise. */
const DEFAULT_LENGTH = 0x10000

/** Up to this length, a loop is faster than a call that copies. */
const SHORT = 32

/** Applies a delta of a pack to its base (gitformat-pack(5), "Deltified representation"). */
export function applyDelta(
  base: Buffer,
  delta: Buffer,
  { maxBytes, maxInstructions }: DeltaLimits,
): Applied {
  const baseBytes = readSize(delta, 0)
  const { value: bytes, end } = readSize(delta, baseBytes.end)
  let instructions = 0
  if (baseBytes.value !== base.length || bytes > maxBytes)
    return { content: undefined, instructions }
  const result = Buffer.allocUnsafeSlow(bytes)
  let written = 0
  let at = end
  // Clients choose the instructions. Nothing here may allocate memory or call a closure.
  while (at < delta.length) {
    const instruction = delta[at++] as number
    if (instruction === 0 || instructions === maxInstructions)
      return { content: undefined, instructions }
    instructions += 1
    let source = delta
    let start = at
    let length = instruction
    if ((instruction & COPY) !== 0) {
      source = base
      start = 0
      length = 0
      // A delta that ends early adds NaN, which fails the check below.
      if ((instruction & 0x01) !== 0) start = delta[at++] as number
      if ((instruction & 0x02) !== 0) start += (delta[at++] as number) * 0x100
      if ((instruction & 0x04) !== 0) start += (delta[at++] as number) * 0x10000
      if ((instruction & 0x08) !== 0) start += (delta[at++] as number) * 0x1000000
      if ((instruction & 0x10) !== 0) length = delta[at++] as number
      if ((instruction & 0x20) !== 0) length += (delta[at++] as number) * 0x100
      if ((instruction & 0x40) !== 0) length += (delta[at++] as number) * 0x10000
      if (length === 0) length = DEFAULT_LENGTH
    } else {
      at += instruction
    }
    const stop = start + length
    if (!(stop <= source.length && written + length <= bytes))
      return { content: undefined, instructions }
    if (length < SHORT) while (start < stop) result[written++] = source[start++] as number
    else written += source.copy(result, written, start, stop)
  }
  return { content: written === bytes ? result : undefined, instructions }
}

/** Returns the size that a delta results in, from the beginning of the delta. */
function sizeAfterDelta(start: Buffer): number {
  return readSize(start, readSize(start, 0).end).value
}

/** Reads a size: seven bits of each byte, the least significant bits first. */
function readSize(bytes: Buffer, position: number): { value: number; end: number } {
  let value = 0
  let end = position
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[end++]
    if (byte === undefined) throw new RangeError('a delta ends early')
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return { value, end }
  }
}
