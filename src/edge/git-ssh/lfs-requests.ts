import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import { cutOff, type PacketReader } from './packets.ts'

/**
 * Requests of the SSH protocol of Git LFS (git-lfs, docs/proposals/ssh_adapter.md): a command,
 * arguments, and for some commands a body behind a delimiter.
 */

/** A request without its body. */
export interface LfsRequest {
  /** The first word of the command. */
  readonly verb: string
  /** What follows the word; empty for nothing. */
  readonly subject: string
  /** Arguments by name. Of repeated ones, the last counts. */
  readonly args: ReadonlyMap<string, string>
}

/** Bytes of the command and the arguments, or of the lines of a body, as of a body over HTTP. */
const MAX_TEXT_BYTES = 1024 * 1024

/** Bytes of a body that nobody wants, beyond its declared size. A longer one ends the session. */
const MAX_UNWANTED_BYTES = 1024 * 1024

/** The client has sent what no answer helps against. The session ends. */
export class LfsSessionError extends Error {
  override readonly name = 'LfsSessionError'
}

/** Reads the requests of a session. */
export class LfsRequests {
  readonly #packets: PacketReader
  /** Whether a body of the present request is left. */
  #hasBody = false

  constructor(packets: PacketReader) {
    this.#packets = packets
  }

  /**
   * Returns the next request; undefined when the client has left.
   *
   * @throws PacketError, LfsSessionError
   */
  async next(): Promise<LfsRequest | undefined> {
    const lines: string[] = []
    let bytes = 0
    for (;;) {
      const packet = await this.#packets.next()
      if (packet === undefined) {
        if (lines.length === 0) return undefined
        throw cutOff()
      }
      if (typeof packet === 'string') {
        this.#hasBody = packet === 'delimiter'
        return requestOf(lines)
      }
      bytes += packet.length
      if (bytes > MAX_TEXT_BYTES) throw new LfsSessionError('the request is too long')
      lines.push(textOf(packet))
    }
  }

  /**
   * Yields the data of the body of the present request.
   *
   * @throws PacketError when the input ends before the body does
   */
  async *body(): AsyncGenerator<Buffer, void, undefined> {
    while (this.#hasBody) {
      const packet = await this.#packets.next()
      if (packet === undefined) throw cutOff()
      if (packet === 'flush') this.#hasBody = false
      else if (packet !== 'delimiter') yield packet
    }
  }

  /**
   * Returns the lines of the body of the present request.
   *
   * @param maxLines beyond, the request is refused.
   * @throws LfsError 413; PacketError
   */
  async lines(maxLines: number): Promise<string[]> {
    const lines: string[] = []
    let bytes = 0
    for await (const data of this.body()) {
      bytes += data.length
      if (lines.length >= maxLines || bytes > MAX_TEXT_BYTES)
        throw new LfsError(413, `a batch can have at most ${maxLines} objects`)
      lines.push(textOf(data))
    }
    return lines
  }

  /**
   * Reads what is left of the body of the present request, since clients read the answer afterwards.
   *
   * @param declaredBytes the size that the client has announced.
   * @throws LfsSessionError, PacketError
   */
  async skipBody(declaredBytes: number): Promise<void> {
    let bytes = 0
    for await (const data of this.body()) {
      bytes += data.length
      if (bytes > declaredBytes + MAX_UNWANTED_BYTES)
        throw new LfsSessionError('the body is longer than its size')
    }
  }
}

function requestOf([command = '', ...rest]: readonly string[]): LfsRequest {
  const [verb = '', ...words] = command.split(' ')
  const args = new Map<string, string>()
  for (const argument of rest) {
    const [name = '', ...value] = argument.split('=')
    args.set(name, value.join('='))
  }
  return { verb, subject: words.join(' '), args }
}

/** Returns the text of a packet without the line feed at its end. */
function textOf(data: Buffer): string {
  return data.toString('utf8').replace(/\n$/, '')
}
