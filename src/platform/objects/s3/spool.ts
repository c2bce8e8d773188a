import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { openNameless } from '../../git/core/nameless-file.ts'
import type { RequestBody } from './s3-client.ts'

/**
 * A file for the part of an upload that is being sent, so that the part can be sent again and has a
 * checksum in advance. The file has no name while it is in use, so that a crash leaves nothing behind.
 */
export interface Spool {
  readonly bytes: number
  /** SHA-256 of the whole spool in hexadecimal. */
  readonly sha256: string
  /** Returns the pieces of the content, each with a checksum of its own. */
  readonly pieces: readonly RequestBody[]
  /** The whole content as one piece. */
  readonly whole: RequestBody
  close(): Promise<void>
}

const CHUNK_BYTES = 256 * 1024

/** Reads chunks of an upload, and puts the rest of a chunk back. */
export class ChunkReader {
  readonly #iterator: AsyncIterator<Uint8Array>
  #rest: Uint8Array | undefined

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  /** Returns the next bytes, at most `maxBytes`; undefined at the end. */
  async next(maxBytes: number): Promise<Uint8Array | undefined> {
    while (this.#rest === undefined || this.#rest.length === 0) {
      const { done, value } = await this.#iterator.next()
      if (done) return undefined
      this.#rest = value
    }
    const chunk = this.#rest.subarray(0, maxBytes)
    this.#rest = this.#rest.subarray(chunk.length)
    return chunk
  }

  /** Ends the source. */
  async return(): Promise<void> {
    await this.#iterator.return?.()
  }
}

/** The bytes of a piece and of a spool, which has some pieces. */
export interface SpoolSizes {
  readonly pieceBytes: number
  readonly maxPieces: number
}

/**
 * Fills a spool from an upload.
 *
 * @param folder where the file is, which has no name.
 */
export async function fillSpool(
  folder: string,
  source: ChunkReader,
  { pieceBytes, maxPieces }: SpoolSizes,
): Promise<Spool> {
  const file = await openNameless(folder)
  try {
    const pieces: RequestBody[] = []
    const whole = createHash('sha256')
    let bytes = 0
    while (pieces.length < maxPieces) {
      const piece = await fillPiece(file, source, { start: bytes, maxBytes: pieceBytes }, whole)
      if (piece.bytes === 0) break
      pieces.push(piece)
      bytes += piece.bytes
      if (piece.bytes < pieceBytes) break
    }
    const sha256 = whole.digest('hex')
    return {
      bytes,
      sha256,
      pieces,
      whole: { bytes, sha256, open: () => readerOf(file, 0, bytes) },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function fillPiece(
  file: FileHandle,
  source: ChunkReader,
  { start, maxBytes }: { readonly start: number; readonly maxBytes: number },
  whole: Hash,
): Promise<RequestBody> {
  const hash = createHash('sha256')
  let bytes = 0
  while (bytes < maxBytes) {
    const chunk = await source.next(maxBytes - bytes)
    if (!chunk) break
    hash.update(chunk)
    whole.update(chunk)
    await writeAll(file, chunk, start + bytes)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex'), open: () => readerOf(file, start, bytes) }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, done, chunk.length - done, position + done)
    done += bytesWritten
  }
}

/** Streams of the file itself would each leave a listener behind. */
async function* chunksOf(
  file: FileHandle,
  start: number,
  bytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  for (let done = 0; done < bytes; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - done))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start + done)
    if (bytesRead === 0) throw new Error('a part of an upload is shorter than before')
    done += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

function readerOf(file: FileHandle, start: number, bytes: number): Readable | Buffer {
  return bytes === 0 ? Buffer.alloc(0) : Readable.from(chunksOf(file, start, bytes))
}
