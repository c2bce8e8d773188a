import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PRIVATE_UMASK } from '../../src/app/private-files.ts'
import { ProcessSpawner } from '../../src/platform/git/processes/process-spawner.ts'
import { databaseOf, dropDatabaseOf, prepareDatabase } from './database.ts'
import { runProgram, textOf } from './programs.ts'
import { noteRunning } from './running-servers.ts'

// Servers in the process of a test create what `doctor` looks at, as main.ts would.
process.umask(PRIVATE_UMASK)

/** The program as it is shipped. `npm test` builds it before the tests run. */
export const MAIN = new URL('../../dist/main.js', import.meta.url).pathname

/**
 * Flags of Node for a start that costs a fifth less CPU time: no optimizing compiler and no threads for
 * the collector, which small programs do not repay, and room for what a start allocates and keeps. Hot
 * code is slower with them, and memory is used differently: a story with real load, or about memory,
 * starts its servers with none (`serveUnderLoad`).
 */
export const QUICK_START: readonly string[] = [
  '--no-turbofan',
  '--single-threaded-gc',
  '--min-semi-space-size=32',
]

/** What starts gits for it, shipped with it. */
export const PROCESS_SPAWNER = new URL('../../dist/process-spawner.js', import.meta.url).pathname

let spawner: ProcessSpawner | undefined

/**
 * The spawner of this worker, which ends with it. Without one, each Git process would be a fork of a
 * process with many tests in its memory.
 */
export function workerSpawner(): ProcessSpawner {
  spawner ??= new ProcessSpawner(PROCESS_SPAWNER, () => {})
  return spawner
}

/** The second process of `doctor --storage`, shipped with it. */
export const STORAGE_PEER = new URL('../../dist/storage-peer.js', import.meta.url).pathname

/** What a command printed, and how it ended. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `node dist/main.js` with arguments to its end. */
export async function branchline(
  args: readonly string[],
  { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<CommandResult> {
  const options = { env: await environmentOf(args, env), input }
  const command = [...QUICK_START, MAIN, ...args]
  const { status, stdout, stderr } = await runProgram(process.execPath, command, options)
  return { code: status, stdout: textOf(stdout), stderr: textOf(stderr) }
}

/**
 * Returns the environment of a command, which refuses variables that it does not know: settings of
 * the tests are not inherited. It names the database of the data folder unless the arguments, or
 * `env`, say which one it is. Undefined means none.
 */
export async function environmentOf(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<NodeJS.ProcessEnv> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('BRANCHLINE_'))
  const data = args.includes('--data') ? args[args.indexOf('--data') + 1] : undefined
  const isNamed = args.includes('--database') || 'BRANCHLINE_DATABASE' in env
  const url = data === undefined || isNamed ? undefined : await databaseOf(data)
  // Tests write more at once than people do, and each says what it needs otherwise.
  const isServer = args.includes('serve')
  return {
    ...Object.fromEntries(inherited),
    ...(url !== undefined && { BRANCHLINE_DATABASE: url }),
    ...(isServer && { BRANCHLINE_ISSUE_RATE: '0' }),
    ...env,
  }
}

/** A server process that is ready. */
export interface ServerProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Resolves when the log has said `text`. */
  logged(text: string): Promise<void>
  /** Resolves with the first line of the log that contains `text`. */
  line(text: string): Promise<string>
  /** Returns the lines of the log that contain `text` so far. */
  linesSoFar(text: string): string[]
  /** Resolves with the exit code, or the signal, once the process is gone. */
  readonly exited: Promise<number | NodeJS.Signals | null>
}

/**
 * Starts `serve` on a free port and waits for its ready line. A folder that exists gets an empty SQLite
 * database if it has none. `main` is the program of another build, which gets no database. `nodeFlags`
 * are those of Node itself.
 */
export async function serveProcess(
  data: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  main = MAIN,
  nodeFlags = QUICK_START,
): Promise<ServerProcess> {
  if (main === MAIN && !args.includes('--database')) await prepareDatabase(data)
  const command = [process.execPath, ...nodeFlags, main, 'serve']
  return startServer([...command, '--data', data, '--listen', '127.0.0.1:0', ...args], env)
}

/** Like `serveProcess`, with Node as users start it: for stories with real load, or about memory. */
export const serveUnderLoad = (
  data: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
) => serveProcess(data, args, env, MAIN, [])

/** Starts a server by its command line and waits for its ready line. */
export async function startServer(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ServerProcess> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: await environmentOf(args, env),
  })
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code))
  })
  const noteEnd = noteRunning(() => {
    child.kill('SIGKILL')
    return exited
  })
  exited.then(noteEnd)
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk
  })
  const logged = async (text: string) => {
    while (!log.includes(text)) await once(child.stderr, 'data')
  }
  const lineWith = async (text: string) => {
    for (;;) {
      const found = log
        .split('\n')
        .slice(0, -1)
        .find((line) => line.includes(text))
      if (found !== undefined) return found
      await once(child.stderr, 'data')
    }
  }
  const linesSoFar = (text: string) => log.split('\n').filter((line) => line.includes(text))
  for await (const line of createInterface(child.stdout)) {
    const url = /^branchline listening on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) return { url, child, exited, logged, line: lineWith, linesSoFar }
  }
  throw new Error(`the server ended before it was ready: ${log}`)
}

/** A folder that is gone when the work is done. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  try {
    return await work(folder)
  } finally {
    await dropDatabaseOf(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Runs until somebody ends it, with a word among its arguments by which it is found from outside of
 * a sandbox, too.
 */
export const waitingScript = (mark: string) => `exec sh -c 'while :; do sleep 0.1; done' ${mark}`

/** Resolves when a process with a word among its arguments is there, or is gone. */
export async function processWith(word: string, state: 'there' | 'gone') {
  for (;;) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const commands = await Promise.all(
      pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    )
    const isThere = commands.some((command) => command.split('\0').includes(word))
    if (isThere === (state === 'there')) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Returns the ids of the processes that this process has started with a word in their command lines. */
export async function childrenWith(word: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, file: string) =>
    readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const found = await Promise.all(
    pids.map(async (pid) => {
      const isOwn = (await read(pid, 'status')).includes(`PPid:\t${process.pid}\n`)
      return isOwn && (await read(pid, 'cmdline')).includes(word) ? Number(pid) : []
    }),
  )
  return found.flat()
}
