import { existsSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../core/system-errors.ts'
import {
  type Repositories,
  repositoryCacheOf,
  repositoryPath,
} from '../repositories/repositories.ts'

/** A loose ref that is not symbolic (gitrepository-layout(5)). */
const LOOSE_REF = /^([0-9a-f]{40})\n$/

/** Names whose files are below the folder of refs, whatever they contain. */
const PLAIN_NAME = /^refs\/(?!.*(?:\/\/|\.\.|\/\.|\.lock(?:\/|$)|\/$))[^\0-\x20\x7f\\:?*[~^]+$/

/** The first line of a file whose refs are in the order of their names. */
const SORTED_HEADER = /^# pack-refs with:.* sorted /

/** Largest `packed-refs` that is kept: some 60,000 refs. */
const MAX_PACKED_BYTES = 4 * 1024 ** 2

/** Memory of all files that are kept. */
const MAX_CACHE_BYTES = 16 * 1024 ** 2

/** Age from which a change of a file is surely visible in its time. */
const SETTLED_MS = 2_500

/** A `packed-refs` file. */
interface PackedRefs {
  readonly stamp: string
  readonly content: Buffer
  readonly bytes: number
}

/**
 * Returns the object id of a ref from the files of a repository, which takes microseconds. The
 * files are compared or read at each call, so that a change by any program shows at once.
 *
 * @param name full name.
 * @returns `missing` for a ref that does not exist; undefined when libgit2 has to be asked: for
 *   symbolic refs, unusual names and unusual files.
 */
export function readRefFile(
  repositories: Repositories,
  id: number,
  name: string,
): string | 'missing' | undefined {
  if (!PLAIN_NAME.test(name)) return undefined
  const path = repositoryPath(repositories, id)
  const loose = readIfThere(join(path, name))
  // Git packs a ref before it removes the loose one, so that the packed one is read second.
  if (loose === 'missing') return findPacked(repositories, id, path, name)
  return loose && LOOSE_REF.exec(loose.toString('latin1'))?.[1]
}

function findPacked(
  repositories: Repositories,
  id: number,
  path: string,
  name: string,
): string | 'missing' | undefined {
  const content = packedRefs(repositories, id, join(path, 'packed-refs'))
  if (content === undefined) return undefined
  const found = content === 'missing' ? content : searchPacked(content, Buffer.from(name))
  // Without its folder of refs, the repository itself is missing, which is for libgit2 to say.
  const isMissing = found === 'missing' && existsSync(join(path, 'refs'))
  return found === 'missing' && !isMissing ? undefined : found
}

function packedRefs(
  repositories: Repositories,
  id: number,
  path: string,
): Buffer | 'missing' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return 'missing'
  if (stats.size > MAX_PACKED_BYTES) return undefined
  const cache = repositoryCacheOf<PackedRefs>(repositories, 'packed refs', MAX_CACHE_BYTES)
  const stamp = stampOf(stats)
  const known = cache.get(id)
  if (known?.stamp === stamp) return known.content
  const content = readIfThere(path)
  if (content === undefined || content === 'missing') return undefined
  const isSettled = Date.now() - Math.max(stats.mtimeMs, stats.ctimeMs) >= SETTLED_MS
  if (isSettled) cache.set(id, { stamp, content, bytes: content.length + 256 })
  return content
}

function stampOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/**
 * Returns the id of a ref by a binary search over lines, `id name` or `^id` for a peeled tag;
 * undefined if the lines are not sorted or damaged.
 */
function searchPacked(content: Buffer, name: Buffer): string | 'missing' | undefined {
  const headerEnd = content.indexOf('\n') + 1
  if (!SORTED_HEADER.test(content.toString('latin1', 0, headerEnd))) return undefined
  let low = headerEnd
  let high = content.length
  while (low < high) {
    const start = refLineAt(content, (low + high) >>> 1, low)
    const end = content.indexOf('\n', start)
    if (end < 0) return undefined
    const order = content.subarray(start + ID_LENGTH + 1, end).compare(name)
    if (order === 0) return content.toString('latin1', start, start + ID_LENGTH)
    if (order > 0) high = start
    else low = nextRefLine(content, end + 1)
  }
  return 'missing'
}

const ID_LENGTH = 40
const CARET = 0x5e

/** Returns the start of the line of the ref at a position. */
function refLineAt(content: Buffer, position: number, low: number): number {
  let start = lineStart(content, position)
  while (start > low && content[start] === CARET) start = lineStart(content, start - 1)
  return start
}

function lineStart(content: Buffer, position: number): number {
  return position === 0 ? 0 : content.lastIndexOf('\n', position - 1) + 1
}

/** Skips the peeled tag of the line before. */
function nextRefLine(content: Buffer, start: number): number {
  if (content[start] !== CARET) return start
  const end = content.indexOf('\n', start)
  return end < 0 ? content.length : end + 1
}

/**
 * Reads a file. Returns `missing` if there is none, and undefined if the file cannot be read. Most
 * names that are looked up have no file, and an error of `readFileSync` costs ten times a `stat`.
 */
function readIfThere(path: string): Buffer | 'missing' | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined || stats.isDirectory() ? 'missing' : readFileSync(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return 'missing'
    if (hasCode(error, 'EACCES', 'ELOOP', 'ENAMETOOLONG')) return undefined
    throw error
  }
}
