import { crc32, createDeflateRaw } from 'node:zlib'
import { type ArchivedFile, throughStream } from './archived-files.ts'

/**
 * A zip archive that is written without going back (APPNOTE.TXT of PKWARE, version 6.3.10): sizes
 * follow the content, and the directory of all files comes last.
 */

const LOCAL = 0x04034b50
const DESCRIPTOR = 0x08074b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const END_64 = 0x06064b50
const LOCATOR_64 = 0x07064b50

/** Bit 3: sizes follow the content. Bit 11: names are UTF-8. */
const FLAGS = 0x0808

/** The version that reads large archives. */
const VERSION = 45

/** The modes are those of Unix. */
const MADE_BY = (3 << 8) | VERSION

const STORED = 0
const DEFLATED = 8

/** Larger numbers are in fields of 64 bits. */
const MAX_32 = 0xffffffff
const MAX_16 = 0xffff

/** Types of files in modes (stat(2)). */
const TYPES = { file: 0o100000, symlink: 0o120000, directory: 0o040000 } as const

/** A file in the directory of the archive. */
interface Listed {
  readonly file: ArchivedFile
  readonly name: Buffer
  readonly method: number
  readonly crc: number
  readonly stored: number
  readonly bytes: number
  readonly offset: number
}

/** Writes files as a zip archive. No file may have 4 GiB or more. */
export async function* zipArchive(
  files: AsyncIterable<ArchivedFile>,
): AsyncGenerator<Buffer, void, undefined> {
  const listed: Listed[] = []
  let offset = 0
  const counted = (chunk: Buffer) => {
    offset += chunk.length
    return chunk
  }
  for await (const file of files) {
    const start = offset
    const name = Buffer.from(
      file.type === 'directory' ? `${file.path.replace(/\/$/, '')}/` : file.path,
    )
    const method = file.type === 'file' ? DEFLATED : STORED
    yield counted(Buffer.concat([localHeader(file, name, method), name]))
    let [crc, bytes, stored] = [0, 0, 0]
    async function* read() {
      for await (const chunk of file.content) {
        crc = crc32(chunk, crc)
        bytes += chunk.length
        yield chunk
      }
    }
    const content = method === STORED ? read() : throughStream(read(), createDeflateRaw())
    for await (const chunk of content) {
      stored += chunk.length
      yield counted(chunk)
    }
    yield counted(numbers([DESCRIPTOR, 4], [crc, 4], [stored, 4], [bytes, 4]))
    listed.push({ file, name, method, crc, stored, bytes, offset: start })
  }
  const start = offset
  for (const entry of listed) yield counted(centralHeader(entry))
  yield endOf(listed.length, start, offset - start)
}

function localHeader(file: ArchivedFile, name: Buffer, method: number): Buffer {
  const [time, date] = dosTime(file.time)
  const sizes = [
    [0, 4],
    [0, 4],
    [0, 4],
  ] as const
  return numbers(
    [LOCAL, 4],
    [VERSION, 2],
    [FLAGS, 2],
    [method, 2],
    [time, 2],
    [date, 2],
    ...sizes,
    [name.length, 2],
    [0, 2],
  )
}

function centralHeader({ file, name, method, crc, stored, bytes, offset }: Listed): Buffer {
  const [time, date] = dosTime(file.time)
  const isFar = offset >= MAX_32
  const extra = isFar ? numbers([1, 2], [8, 2], [offset, 8]) : Buffer.alloc(0)
  const mode = ((TYPES[file.type] | file.mode) << 16) >>> 0
  const header = numbers(
    [CENTRAL, 4],
    [MADE_BY, 2],
    [VERSION, 2],
    [FLAGS, 2],
    [method, 2],
    [time, 2],
    [date, 2],
    [crc, 4],
    [stored, 4],
    [bytes, 4],
    [name.length, 2],
    [extra.length, 2],
    [0, 2],
    [0, 2],
    [0, 2],
    [mode, 4],
    [isFar ? MAX_32 : offset, 4],
  )
  return Buffer.concat([header, name, extra])
}

function endOf(count: number, start: number, bytes: number): Buffer {
  const large = numbers(
    [END_64, 4],
    [44, 8],
    [MADE_BY, 2],
    [VERSION, 2],
    [0, 4],
    [0, 4],
    [count, 8],
    [count, 8],
    [bytes, 8],
    [start, 8],
    [LOCATOR_64, 4],
    [0, 4],
    [start + bytes, 8],
    [1, 4],
  )
  const end = numbers(
    [END, 4],
    [0, 2],
    [0, 2],
    [Math.min(count, MAX_16), 2],
    [Math.min(count, MAX_16), 2],
    [Math.min(bytes, MAX_32), 4],
    [Math.min(start, MAX_32), 4],
    [0, 2],
  )
  return count >= MAX_16 || start + bytes >= MAX_32 ? Buffer.concat([large, end]) : end
}

/** Returns numbers with their sizes in bytes as bytes, the lowest first. */
function numbers(...fields: readonly (readonly [value: number, bytes: number])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [, bytes]) => sum + bytes, 0))
  let at = 0
  for (const [value, bytes] of fields) {
    if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value), at)
    else buffer.writeUIntLE(value, at, bytes)
    at += bytes
  }
  return buffer
}

/** Returns a time in steps of two seconds, and a date from 1980 on. */
function dosTime(time: Date): [number, number] {
  const year = Math.min(Math.max(time.getUTCFullYear(), 1980), 2107)
  return [
    (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1),
    ((year - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate(),
  ]
}
