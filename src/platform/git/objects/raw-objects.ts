import type { Commit } from './commits.ts'
import type { Signer } from './signers.ts'

/** The signature of a commit or tag. */
export interface Signature {
  /** Text of the signature, without the indentation of a header. */
  readonly signature: string
  /** The signed bytes: the object without the signature. */
  readonly payload: Buffer
}

/** A commit as stored. */
export interface RawCommit extends Commit {
  readonly signature: Signature | undefined
}

/** An annotated tag. */
export interface RawTag {
  readonly id: string
  readonly name: string
  readonly target: { readonly id: string; readonly type: string }
  /** Undefined in tags of the first versions of Git. */
  readonly tagger: Signer | undefined
  readonly message: string
  readonly signature: Signature | undefined
}

/**
 * The start of a signature at the end of a tag. The last match counts (parse_signed_buffer in
 * gpg-interface.c of Git).
 */
const TAG_SIGNATURE =
  /^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----$/gm

/** Seconds since 1970 and a time zone. */
const WHEN = /^ (-?[0-9]{1,32}) ([+-])([0-9]{2,4})/

/**
 * Parses a commit object (gitformat-commit in Documentation/technical of Git; commit.c).
 *
 * Text is decoded with the encoding that the commit names, UTF-8 by default. Invalid bytes become
 * U+FFFD.
 */
export function parseCommit(id: string, content: Buffer): RawCommit {
  const { headers, body, unsigned } = readHeaders(content)
  const signature = headers.get(SIGNATURE_HEADER)?.join('\n')
  const text = decoderOf(headers.get('encoding')?.[0])
  const [treeId = ''] = headers.get('tree') ?? []
  return {
    id,
    treeId,
    parentIds: headers.get('parent') ?? [],
    author: readPerson(text(latin1(headers.get('author')?.[0] ?? ''))),
    committer: readPerson(text(latin1(headers.get('committer')?.[0] ?? ''))),
    message: text(body),
    signature:
      signature === undefined
        ? undefined
        : { signature: latin1(signature).toString(), payload: without(content, unsigned) },
  }
}

/** The largest time of Git. */
const MAX_TIME = 2n ** 64n - 1n

/**
 * Returns the time of a commit by which Git orders commits: seconds without a sign in 64 bits
 * (`parse_commit_date` in commit.c of Git).
 */
export function orderOf(content: Buffer): bigint {
  const committer = readHeaders(content).headers.get('committer')?.[0] ?? ''
  const [, seconds = '0'] =
    /^\s*(-?[0-9]+)/.exec(committer.slice(committer.lastIndexOf('>') + 1)) ?? []
  const time = BigInt(seconds.slice(0, 32))
  const isTooLarge = (time < 0n ? -time : time) > MAX_TIME
  return isTooLarge ? MAX_TIME : BigInt.asUintN(64, time)
}

/** Parses a tag object. */
export function parseTag(id: string, content: Buffer): RawTag {
  const { headers, body, bodyStart } = readHeaders(content)
  const text = decoderOf(headers.get('encoding')?.[0])
  const tagger = headers.get('tagger')?.[0]
  const at = [...body.toString('latin1').matchAll(TAG_SIGNATURE)].at(-1)?.index ?? -1
  return {
    id,
    name: text(latin1(headers.get('tag')?.[0] ?? '')),
    target: { id: headers.get('object')?.[0] ?? '', type: headers.get('type')?.[0] ?? '' },
    tagger: tagger === undefined ? undefined : readPerson(text(latin1(tagger))),
    message: text(at < 0 ? body : body.subarray(0, at)),
    signature:
      at < 0
        ? undefined
        : { signature: body.subarray(at).toString(), payload: content.subarray(0, bodyStart + at) },
  }
}

interface Headers {
  /**
   * Values by name, in latin1 to preserve all bytes. Continuation lines are joined with line feeds.
   */
  readonly headers: ReadonlyMap<string, string[]>
  readonly body: Buffer
  readonly bodyStart: number
  /** Positions of the headers that signatures of a commit do not cover, in order. */
  readonly unsigned: readonly Span[]
}

interface Span {
  readonly start: number
  readonly end: number
}

const SIGNATURE_HEADER = 'gpgsig'

/** The headers that are read. */
const READ_HEADERS: ReadonlySet<string> = new Set([
  ...['tree', 'parent', 'author', 'committer', 'encoding', SIGNATURE_HEADER],
  ...['object', 'type', 'tag', 'tagger'],
])

/** Longer than the names of all headers that matter. */
const MAX_NAME_BYTES = 32
const NAME_END = /[ \n]/

/** Returns the work to parse a commit or tag. */
export function parseWork(content: Buffer): number {
  return content.length * WORK_PER_BYTE
}

/** The most expensive headers are of a few bytes each. */
const WORK_PER_BYTE = 8

function readHeaders(content: Buffer): Headers {
  const headers = new Map<string, string[]>()
  const unsigned: Span[] = []
  let start = 0
  while (start < content.length && content[start] !== LINE_FEED) {
    const end = endOfHeader(content, start)
    const next = Math.min(end + 1, content.length)
    const text = content.toString('latin1', start, Math.min(end, start + MAX_NAME_BYTES))
    const [name = ''] = text.split(NAME_END, 1)
    // A commit can have a signature for each hash function of Git. No signature covers any of them
    // (parse_buffer_signed_by_header in commit.c of Git).
    if (name.startsWith(SIGNATURE_HEADER)) unsigned.push({ start, end: next })
    // Clients can push tens of thousands of other headers.
    if (READ_HEADERS.has(name)) {
      const value = content
        .toString('latin1', start + name.length, end)
        .replace(/^ /, '')
        .replaceAll('\n ', '\n')
      const values = headers.get(name)
      if (values) values.push(value)
      else headers.set(name, [value])
    }
    start = next
  }
  const bodyStart = Math.min(start + 1, content.length)
  return { headers, body: content.subarray(bodyStart), bodyStart, unsigned }
}

/** Returns the position of the line feed after a header and its continuation lines, or the end. */
function endOfHeader(content: Buffer, start: number): number {
  let end = start
  // A call for each line would cost more than the bytes of a short one.
  while (end < content.length && (content[end] !== LINE_FEED || content[end + 1] === SPACE)) end++
  return end
}

function without(content: Buffer, spans: readonly Span[]): Buffer {
  const starts = [0, ...spans.map(({ end }) => end)]
  return Buffer.concat(starts.map((start, index) => content.subarray(start, spans[index]?.start)))
}

const LINE_FEED = 0x0a
const SPACE = 0x20

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

function decoderOf(encoding: string | undefined): (bytes: Buffer) => string {
  if (encoding === undefined) return (bytes) => bytes.toString()
  try {
    const decoder = new TextDecoder(encoding)
    return (bytes) => decoder.decode(bytes)
  } catch {
    // Clients can write any name of an encoding into a commit.
    return (bytes) => bytes.toString()
  }
}

/** Returns the nearest number that JavaScript and databases keep exactly. */
function clamped(seconds: number): number {
  return Math.min(Math.max(seconds, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

/** Parses `Name <address> seconds zone` as Git does (ident.c). Missing parts are empty or zero. */
function readPerson(text: string): Signer {
  const opening = text.indexOf('<')
  const closing = text.indexOf('>', opening)
  if (opening < 0 || closing < 0) return { name: text.trim(), email: '', time: 0, offsetMinutes: 0 }
  const [, seconds = '0', sign = '+', zone = '0000'] =
    WHEN.exec(text.slice(text.lastIndexOf('>') + 1)) ?? []
  const digits = zone.padStart(4, '0')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return {
    name: text.slice(0, opening).trim(),
    email: text.slice(opening + 1, closing),
    time: clamped(Number(seconds)),
    offsetMinutes: sign === '-' ? -minutes : minutes,
  }
}
