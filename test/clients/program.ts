import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'

/** How a program ended. */
export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

/** More than any client here takes; what hangs ends before the test does, and with its output. */
const TIME_LIMIT_MS = 100_000

/**
 * Runs a program to its end.
 *
 * @param input for its standard input, which is empty otherwise.
 */
export async function run(
  command: string,
  args: readonly string[],
  input?: string | Buffer,
): Promise<Ended> {
  const child = spawn(command, args, { stdio: 'pipe', timeout: TIME_LIMIT_MS })
  // A program that ends without reading all of its input is judged by its answer, not by EPIPE.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([
    buffer(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, stdout, stderr }
}

/** Whether a program is on the path. */
export function isInstalled(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
