import { GitError } from '../core/errors.ts'
import { inspectObjects } from '../objects/objects.ts'
import { MAX_TEXT_BYTES } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { diffTrees } from './diff.ts'
import type { ChangedFile, FilePair } from './diff-reader.ts'

/** Larger differences are refused earlier. */
const MAX_FILES = 100_000

/** Total length of the paths in arguments. Linux allows 128 KiB for an argument (execve(2)). */
const MAX_PATH_BYTES = 64 * 1024

const FORMAT_BITS = 0o170000
const REGULAR_FILE = 0o100000

/** Length of ids in the output of Git. */
const SHOWN_ID_CHARACTERS = 7

/** Replaces invalid UTF-8 in a path, which therefore cannot be an argument of a process. */
const REPLACEMENT = '\ufffd'

/**
 * Returns the large files of a difference, which Git must not compare (`largePairs`).
 *
 * @param from, to ids of trees or commits.
 * @throws GitError BUSY, TIMEOUT; TOO_LARGE when there are too many large files.
 */
export async function largeFiles(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<readonly ChangedFile[]> {
  const window = { offset: 0, limit: MAX_FILES }
  const { files } = await diffTrees(repositories, id, from, to, { lines: false, window })
  const large = await largePairs(repositories, id, files)
  const pathBytes = large.reduce((bytes, { path }) => bytes + Buffer.byteLength(path), 0)
  if (pathBytes > MAX_PATH_BYTES || large.some(({ path }) => path.includes(REPLACEMENT))) {
    throw new GitError('TOO_LARGE', `${large.length} files are too large for a text`)
  }
  return large
}

/**
 * Returns the pairs of files that Git must not compare. Git reads an added or deleted file, or one
 * of another type, completely, only to report that it is binary (`builtin_diff` in diff.c of Git
 * 2.39). For two regular files, Git compares the sizes first.
 */
export async function largePairs<T extends FilePair>(
  repositories: Repositories,
  id: number,
  pairs: readonly T[],
): Promise<T[]> {
  const suspects = pairs.filter(
    ({ oldMode, newMode }) => !(isRegular(oldMode) && isRegular(newMode)),
  )
  const ids = suspects.flatMap(({ oldMode, oldId, newMode, newId }) => [
    ...(oldMode === 0 ? [] : [oldId]),
    ...(newMode === 0 ? [] : [newId]),
  ])
  const objects = await inspectObjects(repositories, id, [...new Set(ids)])
  const isLarge = (objectId: string) => (objects.get(objectId)?.bytes ?? 0) > MAX_TEXT_BYTES
  return suspects.filter(({ oldId, newId }) => isLarge(oldId) || isLarge(newId))
}

function isRegular(mode: number): boolean {
  return (mode & FORMAT_BITS) === REGULAR_FILE
}

/** Returns Git's text about a binary file (git-diff(1), "Generating patch text with -p"). */
export function binaryNotice({ path, oldMode, newMode, oldId, newId }: ChangedFile): string {
  const [before, after] = [quoted(`a/${path}`), quoted(`b/${path}`)]
  const deleted = notice(
    { before, after, mode: `deleted file mode ${oldMode.toString(8)}`, oldId, newId: ZEROS },
    before,
    NOTHING,
  )
  const added = notice(
    { before, after, mode: `new file mode ${newMode.toString(8)}`, oldId: ZEROS, newId },
    NOTHING,
    after,
  )
  return `${oldMode === 0 ? '' : deleted}${newMode === 0 ? '' : added}`
}

const ZEROS = '0'.repeat(40)
const NOTHING = '/dev/null'

/** A change of a binary file in the output of Git. */
interface BinaryChange {
  readonly before: string
  readonly after: string
  readonly mode: string
  readonly oldId: string
  readonly newId: string
}

function notice(
  { before, after, mode, oldId, newId }: BinaryChange,
  ...sides: readonly string[]
): string {
  const [from, to] = [oldId, newId].map((objectId) => objectId.slice(0, SHOWN_ID_CHARACTERS))
  const lines = [`diff --git ${before} ${after}`, mode, `index ${from}..${to}`]
  return `${lines.join('\n')}\nBinary files ${sides.join(' and ')} differ\n`
}

const ESCAPES: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
}

/** Quotes a path with unusual bytes as Git does (git-config(1), `core.quotePath`). */
function quoted(path: string): string {
  if (/^[ !#-[\]-~]*$/.test(path)) return path
  const escaped = [...Buffer.from(path)].map((byte) => {
    const isPlain = byte >= 0x20 && byte < 0x7f && ESCAPES[byte] === undefined
    return isPlain
      ? String.fromCharCode(byte)
      : (ESCAPES[byte] ?? `\\${byte.toString(8).padStart(3, '0')}`)
  })
  return `"${escaped.join('')}"`
}
