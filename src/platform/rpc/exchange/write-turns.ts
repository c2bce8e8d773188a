import { createHash, hash } from 'node:crypto'

// A list of a thousand long names takes half a second to print. A large message is therefore written in
// parts, between which the event loop has time for other calls.

/** What one turn of the event loop writes, in bytes or characters: about 5 ms. */
export const MAX_TURN_BYTES = 1024 ** 2

/** Bytes of a piece of a large message, unless one element is longer. */
export const PIECE_BYTES = 64 * 1024

/** Bytes that are hashed, copied or encoded as fast as one byte is written, with a margin. */
const BYTES_PER_WRITTEN = 2

/** Bytes of large messages in the turns of the event loop, of all calls together. */
class WriteTurns {
  #spent = 0
  #isScheduled = false
  readonly #waiting: (() => void)[] = []
  /** Bytes in the turn that had the most of them. */
  largest = 0

  /** Counts bytes in this turn. */
  spend(bytes: number): void {
    this.#spent += bytes
    this.largest = Math.max(this.largest, this.#spent)
    this.#schedule()
  }

  /** Waits for a turn that has bytes left. Throws when the call is cancelled. */
  async next({ signal }: Cancellable): Promise<void> {
    if (this.#spent < MAX_TURN_BYTES) return
    await new Promise<void>((resume) => this.#waiting.push(resume))
    signal.throwIfAborted()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#begin())
  }

  /** Begins a turn with the call that has waited for the longest time. */
  #begin(): void {
    this.#spent = 0
    this.#isScheduled = false
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#schedule()
  }
}

/** The turns of this process, which has one event loop. */
export const writeTurns = new WriteTurns()

/** A call that may be cancelled. Its signal is expensive, and created when first used. */
export interface Cancellable {
  readonly signal: AbortSignal
}

/**
 * Returns the text of parts: at once if it is short, otherwise as bytes after later turns of the event
 * loop.
 */
export function textInTurns(
  parts: Iterator<string, unknown>,
  call: Cancellable,
): string | Promise<Buffer> {
  let text = ''
  for (let part = parts.next(); !part.done; part = parts.next()) {
    text += part.value
    if (text.length >= MAX_TURN_BYTES) return restInTurns(text, textPieces(parts), call)
  }
  return text
}

function* textPieces(parts: Iterator<string, unknown>): Generator<Buffer> {
  let text = ''
  for (let part = parts.next(); !part.done; part = parts.next()) {
    text += part.value
    if (text.length < PIECE_BYTES) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

/** Returns the bytes of pieces: at once if they are few, otherwise after later turns. */
export function bytesInTurns(
  pieces: Iterator<Uint8Array, unknown>,
  call: Cancellable,
): Uint8Array | Promise<Buffer> {
  const first: Uint8Array[] = []
  let bytes = 0
  for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
    first.push(piece.value)
    bytes += piece.value.length
    if (bytes >= MAX_TURN_BYTES) return restInTurns(Buffer.concat(first), pieces, call)
  }
  return first.length === 1 && first[0] ? first[0] : Buffer.concat(first)
}

async function restInTurns(
  first: string | Buffer,
  pieces: Iterator<Uint8Array, unknown>,
  call: Cancellable,
): Promise<Buffer> {
  const written: Uint8Array[] = []
  const add = (piece: Uint8Array) => {
    written.push(piece)
    writeTurns.spend(piece.length)
    return writeTurns.next(call)
  }
  await add(Buffer.from(first))
  for (let piece = pieces.next(); !piece.done; piece = pieces.next()) await add(piece.value)
  return longJoin(written, call)
}

/** Returns bytes one after the other: at once if they are few, otherwise after later turns. */
export function joinInTurns(
  parts: readonly Uint8Array[],
  call: Cancellable,
): Buffer | Promise<Buffer> {
  return totalOf(parts) < MAX_TURN_BYTES ? Buffer.concat(parts) : longJoin(parts, call)
}

async function longJoin(parts: readonly Uint8Array[], call: Cancellable): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(totalOf(parts))
  let at = 0
  for (const part of parts) {
    for (const piece of slicesOf(part, PIECE_BYTES)) {
      whole.set(piece, at)
      at += piece.length
      await usedAgain(piece, call)
    }
  }
  return whole
}

function totalOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

/** Returns the SHA-1 of content as base64url: at once if it is short, otherwise after later turns. */
export function sha1InTurns(
  content: string | Uint8Array,
  call: Cancellable,
): string | Promise<string> {
  return content.length < MAX_TURN_BYTES
    ? hash('sha1', content, 'base64url')
    : longSha1(Buffer.from(content), call)
}

async function longSha1(content: Buffer, call: Cancellable): Promise<string> {
  const sha1 = createHash('sha1')
  for (const piece of slicesOf(content, PIECE_BYTES)) {
    sha1.update(piece)
    await usedAgain(piece, call)
  }
  return sha1.digest('base64url')
}

/** Returns bytes as base64 in ASCII: at once if they are few, otherwise after later turns. */
export function base64InTurns(content: Buffer, call: Cancellable): Buffer | Promise<Buffer> {
  return content.length < MAX_TURN_BYTES ? base64Of(content) : longBase64(content, call)
}

/** Returns bytes as base64 in ASCII. */
export function base64Of(content: Buffer): Buffer {
  return Buffer.from(content.toString('base64'), 'latin1')
}

async function longBase64(content: Buffer, call: Cancellable): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(Math.ceil(content.length / 3) * 4)
  let at = 0
  // A multiple of three bytes is encoded without padding.
  for (const piece of slicesOf(content, PIECE_BYTES - (PIECE_BYTES % 3))) {
    at += whole.write(piece.toString('base64'), at, 'latin1')
    await usedAgain(piece, call)
  }
  return whole
}

function* slicesOf({ buffer, byteOffset, length }: Uint8Array, bytes: number): Generator<Buffer> {
  for (let at = 0; at < length; at += bytes)
    yield Buffer.from(buffer, byteOffset + at, Math.min(bytes, length - at))
}

/** Counts bytes that were written before. */
function usedAgain({ length }: Uint8Array, call: Cancellable): Promise<void> {
  writeTurns.spend(Math.ceil(length / BYTES_PER_WRITTEN))
  return writeTurns.next(call)
}
