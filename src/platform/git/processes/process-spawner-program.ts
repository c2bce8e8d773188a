import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { limitedCommand } from './git-command.ts'
import { raiseOwnNiceness } from './priority.ts'
import { type SpawnerMessage, type SpawnMessage, signalGroup } from './process-spawner.ts'
import { collectStderr } from './stderr-text.ts'

/** The program of the process spawner (`process-spawner.ts`). Small, since it loads little code. */

/** Path of the Unix socket. The program removes the folder of the socket when it ends. */
const socketPath = process.argv[2] ?? ''

/**
 * Service managers and terminals signal all processes of a service. The server needs the spawner
 * until the server ends, which closes the IPC channel.
 */
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

raiseOwnNiceness()

/** Idle connections by number. */
const connections = new Map<number, Socket>()
let lastNumber = 0

/**
 * Leaders of the process groups of maintenance, whose input and output say nothing about the server.
 * A server that starts again would run the same steps beside them.
 */
const maintaining = new Set<number>()

// The input is for the Git process that gets the connection, so nothing is read here.
const server = createServer({ pauseOnConnect: true }, (connection) => {
  lastNumber += 1
  connections.set(lastNumber, connection)
  connection.on('error', () => {})
  connection.write(`${lastNumber}\n`)
})
server.listen(socketPath, () => send({ kind: 'ready' }))

process.on('message', (message) => start(message as SpawnMessage))
process.on('disconnect', end)
// The server may have ended before the handler was set.
if (!process.connected) end()

/**
 * Ends the spawner after the server. Git processes continue and notice the end of the server by
 * their input and output, as do those that the server started. Maintenance is ended.
 */
function end(): void {
  for (const leader of maintaining) signalGroup(leader, 'SIGTERM')
  rmSync(dirname(socketPath), { recursive: true, force: true })
  process.exit()
}

function send(message: SpawnerMessage): void {
  process.send?.(message)
}

function start({
  id,
  args,
  cwd,
  env,
  hooks: hasHooks,
  connections: numbers,
  ...limits
}: SpawnMessage): void {
  const [stdin, stdout, hooks] = numbers.map(take)
  const fail = ({ message }: Error) => {
    hooks?.destroy()
    send({ kind: 'failed', id, message })
  }
  try {
    if (!stdin || !stdout) throw new Error('there is no such connection')
    const child = spawn(...limitedCommand(limits, args), {
      cwd,
      env,
      // Node would leave the descriptor for hooks non-blocking, so a pipe forwards its data.
      stdio: hasHooks ? [stdin, stdout, 'pipe', 'pipe'] : [stdin, stdout, 'pipe'],
      // A process group, so a signal reaches the helpers of the process.
      detached: true,
    })
    child.once('error', fail)
    const { pid } = child
    if (pid === undefined) return
    send({ kind: 'started', id, pid })
    if (limits.priority === 'maintenance') {
      maintaining.add(pid)
      child.once('exit', () => maintaining.delete(pid))
    }
    const stderr = collectStderr(child.stdio[2] as Readable)
    if (hooks) pipeBoth(hooks, child.stdio[3] as Duplex)
    child.once('close', (code) => send({ kind: 'ended', id, exit: { code, stderr: stderr.text } }))
  } catch (error) {
    fail(error as Error)
  } finally {
    // The Git process has copies of these descriptors.
    stdin?.destroy()
    stdout?.destroy()
  }
}

function take(number: number): Socket | undefined {
  const connection = connections.get(number)
  connections.delete(number)
  return connection
}

/** Forwards data in both directions until one side ends. */
function pipeBoth(connection: Socket, channel: Duplex): void {
  channel.on('error', () => {})
  channel.pipe(connection).pipe(channel)
  connection.once('close', () => channel.destroy())
}
