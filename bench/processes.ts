import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A server process. */
export interface ServerProcess {
  readonly url: URL
  /**
   * CPU time since the start, of all threads and of the processes that the server has started, such
   * as those of Git. Undefined if the system does not report it.
   */
  cpuMs(): number | undefined
  /** Resident memory. Undefined if the system does not report it. */
  residentBytes(): number | undefined
  /** Ends the process and waits for its exit. */
  stop(): Promise<void>
}

/**
 * Milliseconds per clock tick in proc_pid_stat(5): 100 ticks a second on every architecture that
 * Node runs on.
 */
const MS_PER_TICK = 10

/** Running servers, which end with this process. */
const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill()
})

/** Starts a Node program as `startProgram` does. */
export function startServer(script: string, args: readonly string[]): Promise<ServerProcess> {
  return startProgram(process.execPath, [script, ...args])
}

/**
 * Starts a program that prints `listening on <url>` to stdout.
 *
 * The program runs with its default settings: settings in the environment are removed. Its log goes
 * to a destination that costs a write but no disk.
 *
 * @throws Error if the program ends before it listens.
 */
export async function startProgram(
  program: string,
  args: readonly string[],
): Promise<ServerProcess> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('BRANCHLINE_')),
  )
  // One core serves, as in Node.
  const child = spawn(program, args, {
    env: { ...env, GOMAXPROCS: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  const url = await listeningUrl(child, program)
  const { pid } = child
  return {
    url,
    cpuMs: () => cpuMsOf(`${pid}`),
    residentBytes() {
      const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(`${pid}/status`) ?? '')?.[1]
      return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function listeningUrl({ stdout }: ChildProcess, script: string): Promise<URL> {
  if (stdout === null) throw new Error('stdout is a pipe')
  for await (const line of createInterface(stdout)) {
    const url = /listening on (\S+)$/.exec(line)?.[1]
    if (url === undefined) continue
    stdout.resume()
    return new URL(url)
  }
  throw new Error(`${script} ended before it listened; started by hand it says why`)
}

/** Returns the CPU time of a process and its descendants. Undefined if it is unknown. */
export function cpuMsOf(pid: string): number | undefined {
  const ticks = ticksOf(pid)
  return ticks && ticks * MS_PER_TICK
}

/** Returns the ticks of a process, its ended children, and its running descendants. */
function ticksOf(pid: string): number | undefined {
  // The second field is the name of the program in parentheses. utime, stime, cutime and cstime are
  // fields 14 to 17. The last two are those of children that have ended.
  const fields = readProc(`${pid}/stat`)?.split(') ')[1]?.split(' ')
  if (fields === undefined) return undefined
  const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  const children = readProc(`${pid}/task/${pid}/children`)?.split(' ') ?? []
  return children.reduce((sum, child) => sum + ((child && ticksOf(child)) || 0), own)
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return undefined
  }
}
