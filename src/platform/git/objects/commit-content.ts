import { cleanSigner } from './commits.ts'
import type { Signer } from './signers.ts'

/** The content of a new commit object. */
export interface CommitContent {
  readonly treeId: string
  readonly parentIds: readonly string[]
  /** In the format of `personLine`, as `committer`. */
  readonly author: string
  readonly committer: string
  readonly message: string
}

/** Signs the content of a commit and returns the armored signature. */
export type SignCommit = (payload: Buffer) => string

/** Returns the text of a commit object (gitformat-signature(5), "Commit signatures"). */
export function commitContent(commit: CommitContent, sign?: SignCommit | undefined): string {
  const { treeId, parentIds, author, committer, message } = commit
  const parents = parentIds.map((parentId) => `parent ${parentId}\n`).join('')
  const headers = `tree ${treeId}\n${parents}author ${author}\ncommitter ${committer}\n`
  const unsigned = `${headers}\n${message}`
  if (!sign) return unsigned
  const signature = sign(Buffer.from(unsigned)).trimEnd().replaceAll('\n', '\n ')
  return `${headers}gpgsig ${signature}\n\n${message}`
}

/** Returns a person and a time in the format of commits. */
export function personLine(signer: Signer): string {
  const { name, email, time, offsetMinutes } = cleanSigner(signer)
  const minutes = Math.abs(offsetMinutes)
  const twoDigits = (count: number) => String(Math.trunc(count)).padStart(2, '0')
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${twoDigits(minutes / 60)}${twoDigits(minutes % 60)}`
  return `${name} <${email}> ${time} ${zone}`
}

/** The parts of a commit that stay when it is created again on another parent. */
export type CarriedText = Pick<CommitContent, 'author' | 'message'>

/** Git ignores the rest of a message after NUL. */
const END_OF_TEXT = /\0.*/s

const BLANK_LINES = /^(?:[\t\r ]*\n)*(?:[\t\r ]*$)?/

/**
 * Returns the parts of a commit object that `git rebase` preserves: author and message, converted
 * to UTF-8, without leading blank lines (`get_message` and `do_pick_commit` in sequencer.c of Git,
 * `commit_tree_extended` in its commit.c).
 */
export function carriedText(content: Buffer): CarriedText {
  const [, encoding] = /\nencoding (.*)\n/.exec(headersOf(content.toString('latin1'))) ?? []
  const text = decoded(content, encoding)
  const headers = headersOf(text)
  // Every commit that Git accepts has at least one of the two.
  const [, author = ''] = /\nauthor (.*)/.exec(headers) ?? /\ncommitter (.*)/.exec(headers) ?? []
  const message = text.slice(headers.length + 1)
  return { author, message: message.replace(END_OF_TEXT, '').replace(BLANK_LINES, '') }
}

/** Returns the lines before the empty line, each with its line feed. */
function headersOf(text: string): string {
  const end = text.indexOf('\n\n')
  return end < 0 ? text : text.slice(0, end + 1)
}

const UTF_8 = /^utf-?8$/i

/** The Encoding standard decodes these names as windows-1252, unlike Git. */
const LATIN_1 = /^(?:iso[-_]?8859[-_]?1|latin-?1)$/i

/**
 * Decodes the text of a commit. Text with an unknown encoding or invalid bytes is read as Git reads
 * such text.
 */
function decoded(content: Buffer, encoding = 'UTF-8'): string {
  if (UTF_8.test(encoding)) return repaired(content)
  if (LATIN_1.test(encoding)) return content.toString('latin1')
  try {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
    // UTF-16 would destroy the headers, which are ASCII.
    return decoder.encoding.startsWith('utf-16') ? repaired(content) : decoder.decode(content)
  } catch {
    return repaired(content)
  }
}

/**
 * A character of UTF-8 beyond ASCII, or an invalid byte. Git rejects U+FDD0 to U+FDEF and the last
 * two characters of each plane (`find_invalid_utf8` in its commit.c).
 */
const CHARACTER = new RegExp(
  [
    '(?!\\xef\\xb7[\\x90-\\xaf]|\\xef\\xbf[\\xbe\\xbf]|[\\xf0-\\xf4][\\x8f\\x9f\\xaf\\xbf]\\xbf[\\xbe\\xbf])',
    '(?:[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}',
    '|\\xed[\\x80-\\x9f][\\x80-\\xbf]|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}',
    '|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2})|[\\x80-\\xff]',
  ].join(''),
  'g',
)

/** Decodes UTF-8 and reads invalid bytes as Latin-1 (`verify_utf8` in commit.c of Git). */
function repaired(content: Buffer): string {
  return content
    .toString('latin1')
    .replace(CHARACTER, (bytes) =>
      bytes.length > 1 ? Buffer.from(bytes, 'latin1').toString() : bytes,
    )
}
