import { cleanSigner } from './commits.ts'
import type { Signer } from './signers.ts'

/** What goes into a commit object. */
export interface CommitContent {
  readonly treeId: string
  readonly parentIds: readonly string[]
  /** As `personLine` writes it. */
  readonly author: string
  readonly committer: string
  readonly message: string
}

/** Signs what a commit says, and returns the signature with its armor. */
export type SignCommit = (payload: Buffer) => string

/** What a commit object says (gitformat-signature(5), "Commit signatures"). */
export function commitContent(commit: CommitContent, sign?: SignCommit | undefined): string {
  const { treeId, parentIds, author, committer, message } = commit
  const parents = parentIds.map((parentId) => `parent ${parentId}\n`).join('')
  const headers = `tree ${treeId}\n${parents}author ${author}\ncommitter ${committer}\n`
  const unsigned = `${headers}\n${message}`
  if (!sign) return unsigned
  const signature = sign(Buffer.from(unsigned)).trimEnd().replaceAll('\n', '\n ')
  return `${headers}gpgsig ${signature}\n\n${message}`
}

/** A person and a time as commits have them. */
export function personLine(signer: Signer): string {
  const { name, email, time, offsetMinutes } = cleanSigner(signer)
  const minutes = Math.abs(offsetMinutes)
  const twoDigits = (count: number) => String(Math.trunc(count)).padStart(2, '0')
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${twoDigits(minutes / 60)}${twoDigits(minutes % 60)}`
  return `${name} <${email}> ${time} ${zone}`
}

/** What a commit takes along when it is made anew on another one. */
export type CarriedText = Pick<CommitContent, 'author' | 'message'>

/** Where Git stops reading, although the object may go on. */
const END_OF_TEXT = /\0.*/s

const BLANK_LINES = /^(?:[\t\r ]*\n)*(?:[\t\r ]*$)?/

/**
 * Reads from a commit object what `git rebase` takes along: author and message, as they are but for
 * blank lines in front and an encoding other than UTF-8 (`get_message` and `do_pick_commit` in
 * sequencer.c of Git, `commit_tree_extended` in its commit.c).
 */
export function carriedText(content: Buffer): CarriedText {
  const [, encoding] = /\nencoding (.*)\n/.exec(headersOf(content.toString('latin1'))) ?? []
  const text = decoded(content, encoding)
  const headers = headersOf(text)
  // One of the two is in every commit that Git takes.
  const [, author = ''] = /\nauthor (.*)/.exec(headers) ?? /\ncommitter (.*)/.exec(headers) ?? []
  const message = text.slice(headers.length + 1)
  return { author, message: message.replace(END_OF_TEXT, '').replace(BLANK_LINES, '') }
}

/** What is in front of the empty line, with a line feed behind it. */
function headersOf(text: string): string {
  const end = text.indexOf('\n\n')
  return end < 0 ? text : text.slice(0, end + 1)
}

const UTF_8 = /^utf-?8$/i

/** The Encoding standard takes these names for windows-1252, which is not what they say. */
const LATIN_1 = /^(?:iso[-_]?8859[-_]?1|latin-?1)$/i

/**
 * The text of a commit. What is not in the encoding that it names, or in one that is not known, is
 * read as Git reads that.
 */
function decoded(content: Buffer, encoding = 'UTF-8'): string {
  if (UTF_8.test(encoding)) return repaired(content)
  if (LATIN_1.test(encoding)) return content.toString('latin1')
  try {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
    // Of headers, which are ASCII, nothing would be left.
    return decoder.encoding.startsWith('utf-16') ? repaired(content) : decoder.decode(content)
  } catch {
    return repaired(content)
  }
}

/**
 * A character of UTF-8 beyond ASCII, or a byte of none. U+FDD0 to U+FDEF and the last two of each
 * plane are none to Git (`find_invalid_utf8` in its commit.c).
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

/**
 * UTF-8, of which the bytes that are none are read as Latin-1 (`verify_utf8` in commit.c of Git).
 */
function repaired(content: Buffer): string {
  return content
    .toString('latin1')
    .replace(CHARACTER, (bytes) =>
      bytes.length > 1 ? Buffer.from(bytes, 'latin1').toString() : bytes,
    )
}
