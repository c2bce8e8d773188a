import { textOfPath } from '../core/path-text.ts'
import { canonicalMode, isFolder } from './tree-files.ts'

const SPACE = 0x20
const ID_BYTES = 20

/** The position of an entry in the content of a tree: a mode, a space, a name, NUL and an id. */
interface Entry {
  readonly start: number
  readonly space: number
  readonly nul: number
  readonly end: number
}

/** The content of a tree, as far as it was read. */
interface Reading {
  readonly content: Buffer
  at: number
  /** Mode and id by name. */
  readonly values: Map<string, string>
}

/**
 * Returns the names of the entries that differ between two trees in mode or object, including those
 * that only one tree has, in the format of `textOfPath`.
 *
 * The trees of a history differ in few entries. What both trees begin and end with is therefore
 * compared as bytes.
 *
 * @param one, other contents of tree objects.
 * @returns undefined for a content that is no tree.
 */
export function changedNames(one: Buffer, other: Buffer): ReadonlySet<string> | undefined {
  const at = lastEntryBefore(one, commonLength(one, other, fromStart))
  if (at === undefined) return undefined
  const tail = commonLength(one.subarray(at), other.subarray(at), fromEnd)
  const readings = [one, other].map((content) => ({ content, at, values: new Map() }))
  const [a, b] = readings as [Reading, Reading]
  // Two entries that start at the same distance from the end, within equal bytes, are equal, and so
  // are all that follow.
  while (left(a) !== left(b) || left(a) > tail)
    if (!readEntry(left(a) >= left(b) ? a : b)) return undefined
  const changed = new Set<string>()
  for (const [name, value] of a.values) if (b.values.get(name) !== value) changed.add(name)
  for (const name of b.values.keys()) if (!a.values.has(name)) changed.add(name)
  return changed
}

/**
 * Returns the id of a folder in a tree, or `none` when the tree has no such folder.
 *
 * @param tree content of a tree object.
 * @returns undefined for a content that is no tree.
 */
export function folderIn(tree: Buffer, name: Buffer): string | 'none' | undefined {
  for (let at = 0; at < tree.length; ) {
    const entry = entryAt(tree, at)
    if (!entry) return undefined
    const isNamed = tree.subarray(entry.space + 1, entry.nul).equals(name)
    if (isNamed && isFolder(modeOf(tree, entry))) return idOf(tree, entry)
    at = entry.end
  }
  return 'none'
}

function left({ content, at }: Reading): number {
  return content.length - at
}

/** Reads an entry. Returns false when there is none. */
function readEntry(reading: Reading): boolean {
  const { content, at, values } = reading
  const entry = entryAt(content, at)
  if (!entry) return false
  const name = textOfPath(content.subarray(entry.space + 1, entry.nul))
  values.set(name, `${modeOf(content, entry)} ${idOf(content, entry)}`)
  reading.at = entry.end
  return true
}

function entryAt(content: Buffer, start: number): Entry | undefined {
  const space = content.indexOf(SPACE, start)
  const nul = space < 0 ? -1 : content.indexOf(0, space)
  const end = nul + 1 + ID_BYTES
  return nul < 0 || end > content.length ? undefined : { start, space, nul, end }
}

function modeOf(content: Buffer, { start, space }: Entry): number {
  return canonicalMode(Number.parseInt(content.toString('latin1', start, space), 8))
}

function idOf(content: Buffer, { nul, end }: Entry): string {
  return content.toString('hex', nul + 1, end)
}

/** Returns the start of the entry that contains a position, or the end of the content. */
function lastEntryBefore(content: Buffer, position: number): number | undefined {
  let start = 0
  while (start < content.length) {
    const entry = entryAt(content, start)
    if (!entry) return undefined
    if (entry.end > position) break
    start = entry.end
  }
  return start
}

type Part = (content: Buffer, length: number) => Buffer

const fromStart: Part = (content, length) => content.subarray(0, length)
const fromEnd: Part = (content, length) => content.subarray(content.length - length)

/** Returns the number of bytes that two contents have in common at one end. */
function commonLength(one: Buffer, other: Buffer, part: Part): number {
  let low = 0
  let high = Math.min(one.length, other.length)
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (part(one, middle).equals(part(other, middle))) low = middle
    else high = middle - 1
  }
  return low
}
