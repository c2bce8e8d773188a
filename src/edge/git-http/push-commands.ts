import type { PushCommands } from './git-access.ts'
import type { Opening } from './request-body.ts'

/** Longest list of commands that is read before Git starts: about 10,000 refs. */
const MAX_COMMANDS_BYTES = 1024 * 1024

/** The packet that ends the commands (gitprotocol-pack(5), "Reference Update Request"). */
const FLUSH = '0000'
const LENGTH_BYTES = FLUSH.length

/** The id, the id and the name of a command, and the capabilities of the client behind a NUL. */
const COMMAND = /^[0-9a-f]+ ([0-9a-f]+) ([^\0]+?)\n?(?:\0(.*))?$/s
const ZEROS = /^0+$/

/**
 * Reads the commands at the beginning of a push, as far as `MAX_COMMANDS_BYTES`.
 *
 * @param body is left at the first chunk after the opening.
 */
export async function readPushOpening(
  body: AsyncGenerator<Buffer, void, undefined>,
): Promise<Opening & { readonly commands: PushCommands }> {
  const chunks: Buffer[] = []
  const names: string[] = []
  let isAtomic = false
  let rest: Buffer = Buffer.alloc(0)
  for (let bytes = 0; bytes <= MAX_COMMANDS_BYTES; ) {
    const { value, done } = await body.next()
    if (done) return { chunks, isWhole: true, commands: { names, isAtomic } }
    chunks.push(value)
    bytes += value.length
    const { lines, end, isLast } = packetsIn(Buffer.concat([rest, value]))
    for (const line of lines) {
      const [, newId = '', name = '', capabilities = ''] = COMMAND.exec(line) ?? []
      if (capabilities.split(/[ \n]/).includes('atomic')) isAtomic = true
      if (name !== '' && !ZEROS.test(newId)) names.push(name)
    }
    if (isLast) break
    rest = end
  }
  return { chunks, isWhole: false, commands: { names, isAtomic } }
}

/** Returns the lines of complete packets, the data behind them, and whether no line follows. */
function packetsIn(data: Buffer): {
  readonly lines: readonly string[]
  readonly end: Buffer
  readonly isLast: boolean
} {
  const lines: string[] = []
  let start = 0
  for (;;) {
    const digits = data.toString('latin1', start, start + LENGTH_BYTES)
    const length = Number.parseInt(digits, 16)
    if (digits.length < LENGTH_BYTES || start + length > data.length)
      return { lines, end: data.subarray(start), isLast: false }
    // Git refuses what is no packet.
    if (!(length >= LENGTH_BYTES)) return { lines, end: data, isLast: true }
    lines.push(data.toString('utf8', start + LENGTH_BYTES, start + length))
    start += length
  }
}
