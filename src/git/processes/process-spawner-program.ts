import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { limitedCommand } from './git-command.ts'
import { keepBeginning } from './pooled-text.ts'
import type { StarterMessage, StartMessage } from './process-spawner.ts'

/**
 * The other side of `process-spawner.ts`: a program of its own, which is small because it loads nothing
 * but this.
 */

/**
 * Path of the Unix socket to listen on, in a folder of its own, which goes when this process does.
 */
const socketPath = process.argv[2] ?? ''

/**
 * Service managers and terminals signal all processes of a service; the server needs this one until
 * its own end, which is heard of.
 */
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

/** Those that no git has yet, by their numbers. */
const lines = new Map<number, Socket>()
let lastNumber = 0

// Nothing may be read here: it is for the git that gets the line.
const server = createServer({ pauseOnConnect: true }, (line) => {
  lastNumber += 1
  lines.set(lastNumber, line)
  line.on('error', () => {})
  line.write(`${lastNumber}\n`)
})
server.listen(socketPath, () => tell({ kind: 'ready' }))

process.on('message', (message) => start(message as StartMessage))
process.on('disconnect', end)
// That may have come before anybody listened.
if (!process.connected) end()

/**
 * The server has ended, or been killed. Gits go on, as those do that it starts itself: they notice
 * by their input and output.
 */
function end(): void {
  rmSync(dirname(socketPath), { recursive: true, force: true })
  process.exit()
}

function tell(message: StarterMessage): void {
  process.send?.(message)
}

function start({
  id,
  args,
  cwd,
  env,
  maxMemoryBytes,
  hooks: hasHooks,
  lines: numbers,
}: StartMessage): void {
  const [stdin, stdout, hooks] = numbers.map(take)
  const fail = ({ message }: Error) => {
    hooks?.destroy()
    tell({ kind: 'failed', id, message })
  }
  try {
    if (!stdin || !stdout) throw new Error('there is no such line')
    const child = spawn(...limitedCommand(maxMemoryBytes, args), {
      cwd,
      env,
      // Node leaves a descriptor beyond the first three as it is, which is non-blocking: what hooks
      // say is passed on instead.
      stdio: hasHooks ? [stdin, stdout, 'pipe', 'pipe'] : [stdin, stdout, 'pipe'],
      // Its own group, so that a signal reaches the helpers it starts.
      detached: true,
    })
    child.once('error', fail)
    if (child.pid === undefined) return
    tell({ kind: 'started', id, pid: child.pid })
    const stderr = keepBeginning(child.stdio[2] as Readable)
    if (hooks) passOn(hooks, child.stdio[3] as Duplex)
    child.once('close', (code) => tell({ kind: 'ended', id, exit: { code, stderr: stderr.text } }))
  } catch (error) {
    fail(error as Error)
  } finally {
    // Git has copies of its own.
    stdin?.destroy()
    stdout?.destroy()
  }
}

function take(number: number): Socket | undefined {
  const line = lines.get(number)
  lines.delete(number)
  return line
}

/** Until one of the two ends. */
function passOn(line: Socket, channel: Duplex): void {
  channel.on('error', () => {})
  channel.pipe(line).pipe(channel)
  line.once('close', () => channel.destroy())
}
