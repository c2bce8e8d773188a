import { FLUSH, LENGTH_BYTES, packetAt, packetLine } from './packet-lines.ts'

/** Which lines and attributes a client asks for (gitprotocol-v2(5), ls-refs). */
export interface RefQuestion {
  readonly peel: boolean
  readonly symrefs: boolean
  readonly unborn: boolean
  /** Prefixes of names in Latin-1. Without any, all refs are listed. */
  readonly prefixes: readonly string[]
}

/** A line of the list of refs. The name is in Latin-1. */
const LINE =
  /^([0-9a-f]{40}|unborn) ([^\0- \x7f]+)( symref-target:[^\0- \x7f]+)?( peeled:[0-9a-f]{40})?\n$/

/** Bytes before the name in a packet of a ref that exists. */
const NAME_OFFSET = LENGTH_BYTES + 41

/** Characters after a name. */
const SPACE = 0x20
const LINE_FEED = 0x0a

/**
 * The refs of a repository that `git upload-pack` lists, with all attributes. HEAD points to a
 * branch, and no other ref is symbolic.
 */
export class RefList {
  /** Packets as Git writes them. The first one is HEAD. */
  readonly #packets: Buffer
  /** Where each packet begins, and the end of the last one. */
  readonly #offsets: Uint32Array
  /** The line of HEAD. */
  readonly #head: RegExpExecArray
  /** The last result of `advertise`, which takes as much memory as the packets. */
  #advertised: { readonly capabilities: string; readonly lines: Buffer } | undefined

  private constructor(packets: Buffer, offsets: Uint32Array, head: RegExpExecArray) {
    this.#packets = packets
    this.#offsets = offsets
    this.#head = head
  }

  /**
   * Reads the answer of Git to `ls-refs` with `peel`, `symrefs` and `unborn`.
   *
   * @param head full name of the branch that HEAD points to, in Latin-1.
   * @returns undefined when the list is not as described above.
   */
  static read(answer: Buffer, head: string): RefList | undefined {
    const offsets = [0]
    let packet = packetAt(answer, 0)
    for (; packet?.kind === 'line'; packet = packetAt(answer, packet.end)) offsets.push(packet.end)
    if (packet?.kind !== 'flush' || packet.end !== answer.length) return undefined
    const list = answer.subarray(0, packet.end - LENGTH_BYTES)
    const first = LINE.exec(list.toString('latin1', LENGTH_BYTES, offsets[1] ?? 0))
    if (first?.[2] !== 'HEAD' || first[3] !== ` symref-target:${head}`) return undefined
    const refs = new RefList(list, Uint32Array.from(offsets), first)
    return refs.#isPlain() ? refs : undefined
  }

  /** Number of refs, HEAD included, even when its branch does not exist. */
  get size(): number {
    return this.#offsets.length - 1
  }

  /** Whether there is no ref, so that HEAD points to a branch that does not exist. */
  get isEmpty(): boolean {
    return this.size === 1
  }

  /** Memory of the list in both forms. */
  get bytes(): number {
    return this.#packets.length * 2 + this.#offsets.byteLength
  }

  /** Full name of the branch that HEAD points to, in Latin-1. Undefined when there is none. */
  get headTarget(): string | undefined {
    return this.#head[1] === 'unborn' ? undefined : this.#head[3]?.slice(' symref-target:'.length)
  }

  /** Returns whether all names are in the list. */
  hasAll(names: readonly string[]): boolean {
    return names.every((name) => {
      const bytes = Buffer.from(name)
      const at = this.#firstFrom(bytes)
      return at < this.size && this.#nameAt(at).equals(bytes)
    })
  }

  /** Returns whether refs point to all objects with these ids, or to tags of them. */
  pointToAll(ids: ReadonlySet<string>): boolean {
    const left = new Set(ids)
    for (let i = 0; i < this.size && left.size > 0; i++) {
      const [, id = '', , , peeled] = this.#lineAt(i)
      left.delete(id)
      if (peeled) left.delete(peeled.slice(' peeled:'.length))
    }
    return left.size === 0
  }

  /** Returns the answer to `ls-refs`: packets that end with a flush packet. */
  select(question: RefQuestion): Buffer[] {
    const { prefixes, unborn, symrefs, peel } = question
    const isShown = (this.headTarget !== undefined || (unborn && symrefs)) && isHeadWanted(prefixes)
    const ranges = [...(isShown ? [[0, 1] as const] : []), ...this.#rangesOf(prefixes)]
    const parts =
      symrefs && peel
        ? ranges.map(([from, to]) => this.#packets.subarray(this.#at(from), this.#at(to)))
        : ranges.flatMap(([from, to]) => this.#reduced(from, to, question))
    return [...parts, FLUSH]
  }

  /**
   * Returns the lines of versions 0 and 1 of the protocol without the flush packet
   * (gitprotocol-pack(5), Reference Discovery).
   *
   * @param capabilities what the first line has after its zero byte.
   */
  advertise(capabilities: string): Buffer {
    if (this.#advertised?.capabilities !== capabilities)
      this.#advertised = { capabilities, lines: this.#linesFor(capabilities) }
    return this.#advertised.lines
  }

  #linesFor(capabilities: string): Buffer {
    const packets: Buffer[] = []
    for (let i = this.headTarget === undefined ? 1 : 0; i < this.size; i++) {
      const [, id, name, , peeled] = this.#lineAt(i)
      const rest = packets.length === 0 ? `\0${capabilities}` : ''
      packets.push(packetLine(`${id} ${name}${rest}\n`))
      if (peeled !== undefined)
        packets.push(packetLine(`${peeled.slice(' peeled:'.length)} ${name}^{}\n`))
    }
    return Buffer.concat(packets)
  }

  /** Returns lines without the attributes that the client does not ask for. */
  #reduced(from: number, to: number, { symrefs, peel }: RefQuestion): Buffer[] {
    const packets: Buffer[] = []
    for (let i = from; i < to; i++) {
      const [, id, name, target = '', peeled = ''] = this.#lineAt(i)
      packets.push(packetLine(`${id} ${name}${symrefs ? target : ''}${peel ? peeled : ''}\n`))
    }
    return packets
  }

  /** Returns whether the lines are as `LINE` says and in the order of their names. */
  #isPlain(): boolean {
    for (let i = 1; i < this.size; i++) {
      const line = LINE.exec(this.#textAt(i))
      if (!line || line[1] === 'unborn' || line[3] !== undefined) return false
      if (i > 1 && Buffer.compare(this.#nameAt(i - 1), this.#nameAt(i)) >= 0) return false
    }
    return true
  }

  /** Returns the ranges of refs with one of the prefixes, in order and without overlaps. */
  #rangesOf(prefixes: readonly string[]): (readonly [from: number, to: number])[] {
    if (prefixes.length === 0) return [[1, this.size]]
    const ranges = prefixes.map((prefix) => {
      const bytes = Buffer.from(prefix, 'latin1')
      return [this.#firstFrom(bytes), this.#firstAfter(bytes)] as const
    })
    const merged: (readonly [number, number])[] = []
    let done = 1
    for (const [from, to] of ranges.sort(([a], [b]) => a - b)) {
      if (to <= done) continue
      const start = Math.max(from, done)
      if (start < to) merged.push([start, to])
      done = to
    }
    return merged
  }

  /** Returns the index of the first ref whose name is not before a text. */
  #firstFrom(text: Buffer): number {
    return this.#search((name) => Buffer.compare(name, text) >= 0)
  }

  /** Returns the index of the first ref after all names with a prefix. */
  #firstAfter(prefix: Buffer): number {
    return this.#search((name) => Buffer.compare(name.subarray(0, prefix.length), prefix) > 0)
  }

  /** Returns the first index whose name passes a test that all later names pass too. */
  #search(passes: (name: Buffer) => boolean): number {
    let low = 1
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (passes(this.#nameAt(middle))) high = middle
      else low = middle + 1
    }
    return low
  }

  #nameAt(i: number): Buffer {
    const start = this.#at(i) + NAME_OFFSET
    let end = start
    while (this.#packets[end] !== SPACE && this.#packets[end] !== LINE_FEED) end += 1
    return this.#packets.subarray(start, end)
  }

  #lineAt(i: number): RegExpExecArray {
    const line = LINE.exec(this.#textAt(i))
    // All lines passed `#isPlain`.
    if (!line) throw new Error('a list of refs has changed')
    return line
  }

  #textAt(i: number): string {
    return this.#packets.toString('latin1', this.#at(i) + LENGTH_BYTES, this.#at(i + 1))
  }

  #at(i: number): number {
    return this.#offsets[i] ?? this.#packets.length
  }
}

function isHeadWanted(prefixes: readonly string[]): boolean {
  return prefixes.length === 0 || prefixes.some((prefix) => 'HEAD'.startsWith(prefix))
}
