import type { RemoteArchive } from '../../forge/repositories/content/remote-archives.ts'
import { packetsIn } from '../git-http/session.ts'

/** What a client of `git archive --remote` asks for, or why nothing can be made of the request. */
export type ArchiveRequest =
  | { readonly kind: 'archive'; readonly archive: RemoteArchive }
  | { readonly kind: 'list' }
  | { readonly kind: 'refused'; readonly text: string }

/** As Git (`builtin/upload-archive.c`, MAX_ARGS). */
const MAX_ARGUMENTS = 64

export const ARCHIVE_FORMATS = ['tar', 'zip', 'tar.gz'] as const

/** Options that change no archive of a repository without a work tree. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['-v', '--verbose', '--worktree-attributes'])

const ARGUMENT = 'argument '

/** Largest request: as many arguments as Git takes, each as long as a line can be. */
export const MAX_ARCHIVE_REQUEST_BYTES = MAX_ARGUMENTS * 65_520

/** Reads the arguments of an archive, up to the flush packet. */
export async function readArchiveRequest(
  input: AsyncIterator<Buffer, void>,
): Promise<ArchiveRequest> {
  const lines: string[] = []
  let rest: Buffer = Buffer.alloc(0)
  for (;;) {
    const { value, done } = await input.next()
    if (done) return refused('the list of arguments is not complete')
    const { lines: more, end, isLast } = packetsIn(Buffer.concat([rest, value]))
    lines.push(...more)
    if (lines.length > MAX_ARGUMENTS) return refused('too many arguments')
    if (isLast) break
    rest = end
  }
  const values: string[] = []
  for (const line of lines) {
    if (!line.startsWith(ARGUMENT)) return refused("'argument' token or flush expected")
    values.push(line.slice(ARGUMENT.length).replace(/\n$/, ''))
  }
  return requestOf(values)
}

/** Reads arguments as git-archive(1) does, whose client has read those for the client. */
function requestOf(values: readonly string[]): ArchiveRequest {
  let format = 'tar'
  let prefix = ''
  let level: number | undefined
  const names: string[] = []
  let isOption = true
  for (const value of values) {
    if (value.includes('\0')) return refused('an argument has a NUL')
    if (!isOption || !value.startsWith('-')) names.push(value)
    else if (value === '--') isOption = false
    else if (value === '--list' || value === '-l') return { kind: 'list' }
    else if (value.startsWith('--format=')) format = value.slice('--format='.length)
    else if (value.startsWith('--prefix=')) prefix = value.slice('--prefix='.length)
    else if (/^-\d$/.test(value)) level = Number(value.slice(1))
    else if (!WITHOUT_EFFECT.has(value)) return refused(`the option ${value} is not supported`)
  }
  const known = ARCHIVE_FORMATS.find((name) => name === format)
  if (!known) return refused(`Unknown archive format '${format}'`)
  const [tree, ...paths] = names
  if (tree === undefined) return refused('must specify tree-ish')
  return { kind: 'archive', archive: { format: known, prefix, level, tree, paths } }
}

function refused(text: string): ArchiveRequest {
  return { kind: 'refused', text }
}

/** Bytes of a packet with its band (gitprotocol-pack(5), "side-band-64k"). */
const MAX_PACKET_BYTES = 65_520
const HEADER_BYTES = 5

/** Returns packets with a part of an archive. */
export function* packetsOf(chunk: Buffer): Generator<Buffer> {
  const step = MAX_PACKET_BYTES - HEADER_BYTES
  for (let start = 0; start < chunk.length; start += step) {
    const part = chunk.subarray(start, start + step)
    const length = (part.length + HEADER_BYTES).toString(16).padStart(4, '0')
    yield Buffer.concat([Buffer.from(`${length}\x01`, 'latin1'), part])
  }
}

/** Returns a packet with a line of text. */
export function packetLine(text: string): Buffer {
  const line = Buffer.from(`${text}\n`)
  return Buffer.concat([Buffer.from((line.length + 4).toString(16).padStart(4, '0')), line])
}

export const FLUSH = Buffer.from('0000')
