import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { DELIMITER, dataPacket, PacketReader } from '../../src/edge/git-ssh/packets.ts'

/** An answer of the SSH protocol of Git LFS. */
export interface LfsSshAnswer {
  readonly status: number
  readonly args: readonly string[]
  /** What follows a delimiter, joined. */
  readonly body: Buffer
  /** The same as lines. */
  readonly lines: readonly string[]
}

/** A session of `git-lfs-transfer`, driven packet by packet. */
export class LfsSshDriver {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #packets: PacketReader
  /** Settled when the session has ended, which may be before anybody asks. */
  readonly #closed: Promise<unknown>
  #stderr = ''

  /** @param args of `ssh`. */
  constructor(args: readonly string[]) {
    this.#child = spawn('ssh', args)
    this.#closed = once(this.#child, 'close')
    this.#child.stdin.on('error', () => {})
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString()
    })
    this.#packets = new PacketReader(this.#child.stdout[Symbol.asyncIterator]())
  }

  /** Reads the capabilities of the server. */
  async greeting(): Promise<string[]> {
    const lines: string[] = []
    for (;;) {
      const packet = await this.#packets.next()
      if (!Buffer.isBuffer(packet)) return lines
      lines.push(packet.toString().trimEnd())
    }
  }

  /** Sends a command with arguments and, behind a delimiter, the packets of a body. */
  send(command: string, args: readonly string[] = [], body?: readonly (string | Buffer)[]): void {
    const head = [command, ...args].map((line) => dataPacket(Buffer.from(`${line}\n`)))
    const behind = body ? [DELIMITER, ...body.map((data) => dataPacket(Buffer.from(data)))] : []
    this.#child.stdin.write(Buffer.concat([...head, ...behind, Buffer.from('0000')]))
  }

  /** Sends bytes as they are. */
  write(bytes: string | Buffer): void {
    this.#child.stdin.write(bytes)
  }

  async answer(): Promise<LfsSshAnswer> {
    const head: string[] = []
    const body: Buffer[] = []
    let isBehind = false
    for (;;) {
      const packet = await this.#packets.next()
      if (packet === undefined) throw new Error(`the session has ended: ${this.#stderr}`)
      if (packet === 'flush') break
      if (packet === 'delimiter') isBehind = true
      else if (isBehind) body.push(packet)
      else head.push(packet.toString().trimEnd())
    }
    const [status = '', ...args] = head
    const lines = body.map((data) => data.toString().replace(/\n$/, ''))
    return { status: Number(status.replace('status ', '')), args, body: Buffer.concat(body), lines }
  }

  ask(...order: Parameters<LfsSshDriver['send']>): Promise<LfsSshAnswer> {
    this.send(...order)
    return this.answer()
  }

  /** Ends the input, and returns how the session ended. */
  async end(): Promise<{ readonly code: number | null; readonly stderr: string }> {
    this.#child.stdin.end()
    this.#child.stdout.resume()
    await this.#closed
    return { code: this.#child.exitCode, stderr: this.#stderr }
  }
}
