import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { openNameless } from '../core/nameless-file.ts'
import type { GitProcess } from '../processes/running-git.ts'
import type { Repositories, RepositoryCache } from '../repositories/repositories.ts'
import { startUploadPack } from './pack-services.ts'
import { packetAt } from './packet-lines.ts'
import type { RefRequest } from './ref-advertisement.ts'
import { currentRefs } from './ref-snapshots.ts'

/**
 * Packs for several clients that clone the same commits, as the jobs of a build do. The second client
 * that asks for a pack within a while makes one Git process write the pack to a file, and all later ones
 * read that file, also while the process still writes. The first client costs nothing more than before.
 */

/** A fetch of version 2 of the protocol by a client that has no objects (gitprotocol-v2(5), fetch). */
interface Fetch {
  /** Ids of the wanted objects. */
  readonly wants: ReadonlySet<string>
  /** The same for all requests whose answers are interchangeable. */
  readonly key: string
}

/** Time within which a second client of the same pack is expected. */
const REPEAT_MS = 5 * 60_000

/** Number of packs whose clients are counted. */
const MAX_COUNTED = 1_000

/** Time for which a pack is kept after its last client. */
const KEPT_MS = 5 * 60_000

/** The largest pack that is kept, and all of them together. */
export const MAX_CACHED_PACK_BYTES = 512 * 1024 ** 2
const MAX_BYTES = 1024 ** 3

/** Bytes that are read for a client at a time. */
const READ_BYTES = 256 * 1024

/**
 * Answers a fetch from a pack that another client has asked for.
 *
 * @param hasRoom returns whether the disk has room for a pack.
 * @returns the bytes that `git upload-pack` would print. They end with an error when the process fails.
 *   Undefined when a process has to answer: a client that has objects, one that is the first to ask, one
 *   that wants what no ref points to, and all of them for a few seconds after a ref has moved.
 */
export async function answerFetch(
  repositories: Repositories,
  id: number,
  { protocol, body }: RefRequest,
  hasRoom: () => Promise<boolean>,
): Promise<AsyncIterable<Buffer> | undefined> {
  const fetch = protocol === 'version=2' && body ? readFetch(body) : undefined
  if (!body || !fetch) return undefined
  const packs = packsOf(repositories)
  const isRepeated = packs.isRepeated(id, fetch.key)
  // What no ref points to may be removed at any time.
  const refs = isRepeated ? await currentRefs(repositories, id) : undefined
  if (!refs?.pointToAll(fetch.wants) || !(await hasRoom())) {
    packs.misses += 1
    return undefined
  }
  return packs.read(id, fetch.key, () => {
    const request = { advertise: false, protocol, isLarge: false }
    const git = startUploadPack(repositories, id, request)
    // The exit of the process says why it takes no input.
    git.stdin.on('error', () => {})
    git.stdin.end(body)
    return git
  })
}

/** What the packs of a server have been good for. */
export interface PackCacheFigures {
  /** Clones that were answered from the pack of another client. */
  readonly hits: number
  /** Clones for which a process of their own wrote the pack. */
  readonly misses: number
  /** Bytes of the packs in files now. */
  readonly bytes: number
}

/** Returns the figures since the start of the server. */
export function packCacheFigures(repositories: Repositories): PackCacheFigures {
  return packsOf(repositories)
}

/** Arguments that decide what is in a pack, besides the wanted objects. */
const ARGUMENT =
  /^(done|thin-pack|no-progress|include-tag|ofs-delta|sideband-all|deepen \d+|filter [\x21-\x7e]+)$/
const WANT = /^want ([0-9a-f]{40})$/
const CAPABILITY = /^(agent=[\x21-\x7e]+|object-format=sha1)$/

/** Reads a request. Returns undefined for what Git clients do not send when they clone. */
export function readFetch(body: Buffer): Fetch | undefined {
  const sections: [string[], string[]] = [[], []]
  let [lines] = sections
  let packet = packetAt(body, 0)
  for (; packet && packet.kind !== 'flush'; packet = packetAt(body, packet.end)) {
    if (packet.kind === 'line')
      lines.push(body.toString('latin1', packet.start, packet.end).replace(/\n$/, ''))
    else if (lines === sections[1]) return undefined
    else lines = sections[1]
  }
  if (packet?.end !== body.length) return undefined
  const [[command, ...capabilities], given] = sections
  if (command !== 'command=fetch' || !capabilities.every((line) => CAPABILITY.test(line)))
    return undefined
  const wants = new Set<string>()
  for (const line of given) {
    const [, want] = WANT.exec(line) ?? []
    if (want) wants.add(want)
    else if (!ARGUMENT.test(line)) return undefined
  }
  if (wants.size === 0 || !given.includes('done')) return undefined
  const key = createHash('sha256').update(given.toSorted().join('\n')).digest('base64')
  return { wants, key }
}

function packsOf({ repositoryCaches, scratch }: Repositories): PackCache {
  const name = 'packs'
  const cache = repositoryCaches.get(name) ?? new PackCache(scratch)
  repositoryCaches.set(name, cache)
  // The name belongs to this module.
  return cache as PackCache
}

/** The packs of a server. Their files have no names, so that a crash leaves none. */
export class PackCache implements RepositoryCache, PackCacheFigures {
  readonly #folder: string
  /** The packs that clients asked for, and whether a file may have them. */
  readonly #asked = new LRUCache<string, boolean>({ max: MAX_COUNTED, ttl: REPEAT_MS })
  readonly #packs = new Map<string, SharedPack>()
  hits = 0
  misses = 0

  /** @param folder where the files are. */
  constructor(folder: string) {
    this.#folder = folder
  }

  get bytes(): number {
    return [...this.#packs.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Returns whether a pack was asked for within a while, and remembers this request. */
  isRepeated(id: number, key: string): boolean {
    const name = nameOf(id, key)
    const mayBeKept = this.#asked.get(name)
    if (mayBeKept !== false) this.#asked.set(name, true)
    return mayBeKept === true || this.#packs.has(name)
  }

  /**
   * Returns the bytes of a pack.
   *
   * @param start starts the process that writes the pack, if nobody has.
   */
  read(id: number, key: string, start: () => GitProcess): AsyncIterable<Buffer> {
    const name = nameOf(id, key)
    const known = this.#packs.get(name)
    if (known) {
      this.hits += 1
      return known.follow()
    }
    this.misses += 1
    const pack = new SharedPack(openNameless(this.#folder), start, (hasFailed) => {
      if (this.#packs.get(name) === pack) this.#packs.delete(name)
      if (hasFailed) this.#asked.set(name, false)
    })
    this.#packs.set(name, pack)
    this.#makeRoom()
    return pack.follow()
  }

  /** Forgets the packs of a repository. Those that clients read go on. */
  delete(id: number): void {
    for (const [name, pack] of this.#packs) if (name.startsWith(nameOf(id, ''))) pack.forget()
  }

  /** Forgets the packs whose last client was longest ago. */
  #makeRoom(): void {
    let { bytes } = this
    for (const pack of [...this.#packs.values()].toSorted((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (bytes <= MAX_BYTES) return
      bytes -= pack.bytes
      pack.forget()
    }
  }
}

const nameOf = (id: number, key: string) => `${id} ${key}`

/** A pack that a process writes and clients read. The process goes on when its clients leave. */
class SharedPack {
  readonly #file: Promise<FileHandle>
  readonly #onForgotten: (hasFailed: boolean) => void
  readonly #expiry: NodeJS.Timeout
  /** Clients that wait for more. */
  readonly #waiting: (() => void)[] = []
  #bytes = 0
  #state: 'written' | 'whole' | Error = 'written'
  #clients = 0
  #isForgotten = false
  usedAtMs = performance.now()

  /** @param onForgotten is called when no more clients may read. */
  constructor(
    file: Promise<FileHandle>,
    start: () => GitProcess,
    onForgotten: (hasFailed: boolean) => void,
  ) {
    this.#file = file
    this.#onForgotten = onForgotten
    this.#expiry = setTimeout(() => this.forget(), KEPT_MS).unref()
    this.#write(start).then(
      () => this.#settle('whole'),
      (error: unknown) => {
        this.#settle(error instanceof Error ? error : new Error(String(error)))
        this.forget()
      },
    )
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the bytes from the beginning, as they come. */
  async *follow(): AsyncGenerator<Buffer, void, undefined> {
    this.#clients += 1
    try {
      const file = await this.#file
      for (let at = 0; ; ) {
        if (at < this.#bytes) {
          const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#bytes - at))
          const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
          at += bytesRead
          yield buffer.subarray(0, bytesRead)
        } else if (this.#state === 'written')
          await new Promise<void>((resolve) => this.#waiting.push(resolve))
        else if (this.#state === 'whole') return
        else throw this.#state
      }
    } finally {
      this.#clients -= 1
      this.usedAtMs = performance.now()
      if (!this.#isForgotten) this.#expiry.refresh()
      this.#closeUnused()
    }
  }

  /** Lets no more clients read. */
  forget(): void {
    if (this.#isForgotten) return
    this.#isForgotten = true
    clearTimeout(this.#expiry)
    this.#onForgotten(this.#state instanceof Error)
    this.#closeUnused()
  }

  async #write(start: () => GitProcess): Promise<void> {
    const file = await this.#file
    // Output that nobody reads is lost when the process ends, so the reading begins at once.
    const git = start()
    try {
      for await (const chunk of git.stdout as AsyncIterable<Buffer>) {
        for (let done = 0; done < chunk.length; ) {
          const { bytesWritten } = await file.write(chunk, done, chunk.length - done, this.#bytes)
          done += bytesWritten
          this.#bytes += bytesWritten
        }
        if (this.#bytes > MAX_CACHED_PACK_BYTES) throw new Error('the pack is too large to be kept')
        this.#wake()
      }
    } catch (error) {
      git.stop()
      throw error
    }
    const { code, stderr } = await git.exited
    if (code !== 0) throw new Error(`git upload-pack has failed with ${code}: ${stderr}`)
  }

  #settle(state: 'whole' | Error): void {
    this.#state = state
    this.#wake()
    this.#closeUnused()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Closes the file of a forgotten pack that nobody writes or reads. */
  #closeUnused(): void {
    if (!this.#isForgotten || this.#clients > 0 || this.#state === 'written') return
    // A file that could not be opened has nothing to be closed.
    this.#file.then((file) => file.close()).catch(() => {})
  }
}
