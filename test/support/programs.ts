import { type ChildProcess, execFileSync as forkSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'

/**
 * Programs that tests run to their end. A small process of the worker starts them: a fork of the worker
 * itself, which has a thousand modules and the heaps of many servers in its memory, takes 30 ms and more
 * of a core (`process-spawner.ts` has the figures).
 */
const STARTER = new URL('program-starter.mjs', import.meta.url).pathname

/** The length of a message, which precedes it. */
const LENGTH_BYTES = 4

/** What Node's functions of the same names take, as far as tests need it. */
export interface ProgramOptions {
  readonly cwd?: string | undefined
  readonly env?: NodeJS.ProcessEnv | undefined
  /** Of the standard input, which is empty otherwise. */
  readonly input?: string | Uint8Array | undefined
  readonly encoding?: 'utf8' | undefined
}

/** A program to run to its end, with the folder, the environment and the mask of the worker. */
export interface ProgramRequest {
  readonly file: string
  readonly args: readonly string[]
  readonly input: string | Uint8Array
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly umask: number
}

/** How a program ended, and what it printed. */
export interface ProgramEnd {
  /** Null when a signal ended the program, or when it did not start. */
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  /** Of a program that could not be started, such as `ENOENT`. */
  readonly code: string | undefined
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

interface Starter {
  readonly child: ChildProcess
  /** The answer to each request over the IPC channel that has none yet. */
  readonly waiting: Map<number, (end: ProgramEnd) => void>
  readonly requests: number
  readonly answers: number
}

let running: Starter | undefined
let lastId = 0

/** Like Node's function: returns what a program printed. @throws when it fails */
export function execFileSync(
  file: string,
  args: readonly string[],
  options: ProgramOptions & { readonly encoding: 'utf8' },
): string
export function execFileSync(
  file: string,
  args?: readonly string[],
  options?: ProgramOptions,
): Buffer
export function execFileSync(
  file: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): string | Buffer {
  const end = runSync(file, args, options)
  throwFailure(end, file, args)
  const stdout = Buffer.from(end.stdout)
  return options.encoding === 'utf8' ? stdout.toString() : stdout
}

/** Like Node's function as a promise. @throws when the program fails, with what it printed */
export async function execFile(
  file: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const end = await runProgram(file, args, options)
  throwFailure(end, file, args)
  return { stdout: textOf(end.stdout), stderr: textOf(end.stderr) }
}

/** Runs a program to its end, whatever that is. */
export function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramEnd> {
  const starter = openStarter()
  lastId += 1
  const id = lastId
  starter.child.channel?.ref()
  return new Promise((resolve) => {
    starter.waiting.set(id, resolve)
    starter.child.send({ id, ...requestOf(file, args, options) })
  })
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

function runSync(file: string, args: readonly string[], options: ProgramOptions): ProgramEnd {
  const { requests, answers } = openStarter()
  const payload = serialize(requestOf(file, args, options))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(payload.length)
  let rest = Buffer.concat([length, payload])
  while (rest.length > 0) rest = rest.subarray(writeSync(requests, rest))
  return deserialize(readExactly(answers, readExactly(answers, LENGTH_BYTES).readUInt32LE()))
}

function readExactly(descriptor: number, bytes: number): Buffer {
  const content = Buffer.allocUnsafe(bytes)
  for (let position = 0; position < bytes; ) {
    const read = readSync(descriptor, content, position, bytes - position, null)
    if (read === 0) throw new Error('the process that starts programs has ended')
    position += read
  }
  return content
}

function requestOf(
  file: string,
  args: readonly string[],
  { cwd, env, input }: ProgramOptions,
): ProgramRequest {
  return {
    file,
    args,
    input: input ?? '',
    cwd: cwd ?? process.cwd(),
    env: { ...(env ?? process.env) },
    umask: process.umask(),
  }
}

function throwFailure(end: ProgramEnd, file: string, args: readonly string[]): void {
  const { status, signal, code } = end
  if (status === 0 && code === undefined) return
  const [stdout, stderr] = [textOf(end.stdout), textOf(end.stderr)]
  const message = `Command failed: ${[file, ...args].join(' ')}\n${code ?? stderr}`
  throw Object.assign(new Error(message), { status, signal, code: code ?? status, stdout, stderr })
}

/** Returns the process of this worker, which ends with it. */
function openStarter(): Starter {
  if (running?.child.exitCode === null) return running
  running = startStarter()
  return running
}

function startStarter(): Starter {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-programs-'))
  const paths = [join(folder, 'requests'), join(folder, 'answers')] as const
  forkSync('mkfifo', [...paths])
  const child = spawn(process.execPath, [STARTER, ...paths], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const waiting: Starter['waiting'] = new Map()
  child.on('message', (message) => {
    const { id, ...answer } = message as ProgramEnd & { readonly id: number }
    waiting.get(id)?.(answer)
    waiting.delete(id)
    if (waiting.size === 0) child.channel?.unref()
  })
  const [requests, answers] = [openSync(paths[0], 'w'), openSync(paths[1], 'r')]
  rmSync(folder, { recursive: true })
  child.once('exit', () => {
    closeSync(requests)
    closeSync(answers)
  })
  child.unref()
  child.channel?.unref()
  return { child, waiting, requests, answers }
}
