import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { readSmallOutput } from './small-output.ts'

/** Memory of all cached differences, and of the largest that is cached. */
const MAX_CACHE_BYTES = 32 * 1024 ** 2
const MAX_DIFFERENCE_BYTES = 4 * 1024 ** 2

/** Longest path. Longer paths are truncated. */
export const MAX_PATH_BYTES = 64 * 1024

/** Bytes of a record start. */
const START_BYTES = 4

const SPACE = 0x20
const LETTER_C = 0x43
const LETTER_R = 0x52

/**
 * The raw output of git-diff-tree(1) with `-z --raw`, in memory. A page of the files is read without
 * a look at the others.
 */
export class DiffRecords {
  readonly #output: Buffer
  /** Offset of each record, and of the end. */
  readonly #starts: Uint32Array

  constructor(output: Buffer) {
    const starts: number[] = []
    let at = 0
    while (at < output.length) {
      starts.push(at)
      const end = endOfToken(output, at)
      for (let paths = pathsAfter(output, end); paths >= 0; paths--) at = endOfToken(output, at) + 1
    }
    this.#output = output
    starts.push(at)
    this.#starts = Uint32Array.from(starts)
  }

  /** Number of changed files. */
  get count(): number {
    return this.#starts.length - 1
  }

  /** Memory in bytes. */
  get bytes(): number {
    return this.#output.length + this.#starts.length * START_BYTES
  }

  /** Yields the header and the paths of each record from `first` to before `last`. */
  *tokens(first: number, last: number): Generator<Buffer> {
    const end = this.#starts[Math.min(last, this.count)] ?? 0
    for (let at = this.#starts[first] ?? end; at < end; ) {
      const next = endOfToken(this.#output, at)
      yield this.#output.subarray(at, Math.min(next, at + MAX_PATH_BYTES))
      at = next + 1
    }
  }
}

function endOfToken(output: Buffer, start: number): number {
  const end = output.indexOf(0, start)
  return end < 0 ? output.length : end
}

/** Returns the number of paths after a header, which ends with a status such as `M` or `R087`. */
function pathsAfter(output: Buffer, end: number): 1 | 2 {
  const status = output[output.lastIndexOf(SPACE, end - 1) + 1]
  return status === LETTER_R || status === LETTER_C ? 2 : 1
}

/** The output of a difference: in memory, or as it arrives if it is large. */
export type DiffOutput =
  | { readonly records: DiffRecords; readonly chunks?: undefined }
  | { readonly records?: undefined; readonly chunks: AsyncIterable<Buffer> }

/**
 * Returns the raw output of a difference. A small one is cached as long as the commit or tree `to`
 * is stored.
 *
 * @param run starts git-diff-tree(1).
 */
export async function diffRecords(
  repositories: Repositories,
  id: number,
  { from, to }: { readonly from: string; readonly to: string },
  run: () => Promise<AsyncIterable<Buffer>>,
): Promise<DiffOutput> {
  const cache = objectCacheOf<DiffRecords>(
    repositories,
    'differences',
    MAX_CACHE_BYTES,
    ({ bytes }) => bytes,
  )
  const presence = new ObjectPresence(repositories, id)
  const variant = ` ${from}`
  const known = cache.get(id, to, presence, variant)
  if (known) return { records: known }
  const before = presence.evidenceOf(to)
  const { whole, chunks } = await readSmallOutput(await run(), MAX_DIFFERENCE_BYTES)
  if (whole === undefined) return { chunks }
  const records = new DiffRecords(whole)
  cache.set(id, to, records, { before, presence, variant })
  return { records }
}
