import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { ObjectType } from '../../src/platform/git/core/object-ids.ts'
import { FLUSH, packetLine } from '../../src/platform/git/packs/packet-lines.ts'

const TYPES: readonly ObjectType[] = ['commit', 'tree', 'blob', 'tag']
const OFFSET_DELTA = 6

/** An object of a pack. */
export interface Packed {
  readonly id: string
  readonly type: ObjectType
  readonly content: Buffer
  /** Position in the pack. */
  readonly at: number
}

/** A delta: bytes to insert, or a range of the base to copy. */
export type DeltaPart =
  | Buffer
  | { readonly offset: number; readonly length: number; readonly times?: number }

/** A pack in which the author chooses each delta, unlike in packs that Git makes. */
export class PackWriter {
  readonly #entries: Buffer[] = []
  #bytes = 12
  #last: Packed | undefined

  /** Adds an object without a delta. */
  add(type: ObjectType, content: Buffer | string): Packed {
    return this.#add(type, Buffer.from(content), [], Buffer.from(content), TYPES.indexOf(type) + 1)
  }

  /** Adds an object as a delta to an earlier one, of the same type. */
  addDelta(base: Packed, parts: readonly DeltaPart[]): Packed {
    const content = partsOf(base.content, parts)
    const delta = deltaOf(base.content.length, content.length, parts)
    const distance = offsetBytes(this.#bytes - base.at)
    return this.#add(base.type, content, distance, delta, OFFSET_DELTA)
  }

  /** The object that was added last. */
  get last(): Packed {
    if (!this.#last) throw new Error('an empty pack')
    return this.#last
  }

  /** Returns the pack (gitformat-pack(5)). */
  bytes(): Buffer {
    const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
    head.writeUInt32BE(this.#entries.length, 8)
    const body = Buffer.concat([head, ...this.#entries])
    return Buffer.concat([body, createHash('sha1').update(body).digest()])
  }

  #add(
    type: ObjectType,
    content: Buffer,
    distance: readonly number[],
    data: Buffer,
    kind: number,
  ): Packed {
    const header = Buffer.from([...sizeBytes(data.length, kind), ...distance])
    const entry = Buffer.concat([header, deflateSync(data)])
    this.#last = { id: idOf(type, content), type, content, at: this.#bytes }
    this.#entries.push(entry)
    this.#bytes += entry.length
    return this.#last
  }
}

/** Returns a delta with parts in the given order. */
export function deltaOf(
  baseBytes: number,
  resultBytes: number,
  parts: readonly DeltaPart[],
): Buffer {
  const pieces = parts.flatMap((part) => {
    if (!Buffer.isBuffer(part)) {
      const copy = copyOf(part.offset, part.length)
      return [Buffer.alloc(copy.length * (part.times ?? 1), copy)]
    }
    return Array.from({ length: Math.ceil(part.length / 127) }, (_, i) => {
      const inserted = part.subarray(i * 127, (i + 1) * 127)
      return Buffer.concat([Buffer.from([inserted.length]), inserted])
    })
  })
  return Buffer.concat([Buffer.from([...varint(baseBytes), ...varint(resultBytes)]), ...pieces])
}

/** Returns what parts make of a base. */
export function partsOf(base: Buffer, parts: readonly DeltaPart[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (Buffer.isBuffer(part)) return part
      const copied = base.subarray(part.offset, part.offset + part.length)
      return Buffer.alloc(copied.length * (part.times ?? 1), copied)
    }),
  )
}

/** Chains of deltas. */
export interface ChainShape {
  readonly links: number
  /** Instructions of each link. 130,000 of them take almost 256 KiB. */
  readonly instructions: number
}

/**
 * Adds an object at the end of a chain whose links are made of copies of one byte. What the chain
 * passes through are valid objects: trees with one long name, commits with a long message.
 *
 * @param treeId tree of the commits.
 */
export function addChained(
  pack: PackWriter,
  type: 'tree' | 'commit',
  content: Buffer,
  treeId: string,
  { links, instructions }: ChainShape,
): Packed {
  const salt = createHash('sha1').update(content).digest('hex')
  const [head, tail] =
    type === 'tree'
      ? [Buffer.from('160000 '), (n: number) => `-${salt}-${n}\0${'1'.repeat(20)}`]
      : [commitOf({ treeId, message: '' }), (n: number) => `-${salt}-${n}\n`]
  const filler = Buffer.alloc(instructions, head[0])
  let last = pack.add(type, Buffer.concat([head, filler, Buffer.from(tail(0))]))
  for (let n = 1; n < links; n++) {
    const copies = { offset: 0, length: 1, times: instructions }
    last = pack.addDelta(last, [head, copies, Buffer.from(tail(n))])
  }
  return pack.addDelta(last, [content])
}

/** An entry of a tree. */
export interface TreeItem {
  readonly mode: string
  readonly name: string
  readonly id: string
}

/** Returns the content of a tree. The caller sorts the entries as Git does. */
export function treeOf(items: readonly TreeItem[]): Buffer {
  return Buffer.concat(
    items.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} ${name}\0`),
      Buffer.from(id, 'hex'),
    ]),
  )
}

/** Returns the content of a commit. */
export function commitOf(commit: {
  readonly treeId: string
  readonly parentIds?: readonly string[]
  readonly message: string
  readonly time?: number
}): Buffer {
  const { treeId, parentIds = [], message, time = 1_770_000_000 } = commit
  const parents = parentIds.map((id) => `parent ${id}\n`).join('')
  const who = `Bob <bob@example.org> ${time} +0000`
  return Buffer.from(`tree ${treeId}\n${parents}author ${who}\ncommitter ${who}\n\n${message}`)
}

/** Pushes a pack as it is to a new branch over HTTP; git-push(1) would make other deltas. */
export async function pushPack(
  repositoryUrl: string,
  authorization: string,
  branch: string,
  commitId: string,
  pack: PackWriter,
): Promise<void> {
  const command = `${'0'.repeat(40)} ${commitId} refs/heads/${branch}\0report-status`
  const response = await fetch(`${repositoryUrl}/git-receive-pack`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-git-receive-pack-request' },
    body: Buffer.concat([packetLine(command), FLUSH, pack.bytes()]),
  })
  const report = await response.text()
  if (!report.includes(`ok refs/heads/${branch}`)) throw new Error(`the push failed: ${report}`)
}

function idOf(type: ObjectType, content: Buffer): string {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
}

/** The bits of a copy, then the bytes of offset and length that are not zero. */
function copyOf(offset: number, length: number): Buffer {
  if (length > 0xffffff) throw new RangeError('a long copy')
  let instruction = 0x80
  const bytes: number[] = []
  const add = (value: number, count: number, firstBit: number) => {
    for (let i = 0; i < count; i++) {
      const byte = Math.floor(value / 256 ** i) % 256
      if (byte === 0) continue
      instruction |= firstBit << i
      bytes.push(byte)
    }
  }
  add(offset, 4, 0x01)
  // No bytes of a length mean 64 KiB.
  add(length === 0x10000 ? 0 : length, 3, 0x10)
  return Buffer.from([instruction, ...bytes])
}

function sizeBytes(bytes: number, kind: number): number[] {
  const rest = Math.floor(bytes / 16)
  const first = (kind << 4) | (bytes % 16)
  return rest === 0 ? [first] : [first | 0x80, ...varint(rest)]
}

function varint(value: number): number[] {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest % 128)
  }
  return bytes
}

/** The distance to a base: each further byte counts one more (gitformat-pack(5)). */
function offsetBytes(distance: number): number[] {
  const bytes = [distance % 128]
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest -= 1
    bytes.unshift((rest % 128) | 0x80)
  }
  return bytes
}
