import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { basename, join, relative } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { promisify } from 'node:util'
import { cleanEnvironment, configEnvironment } from '../processes/child-process.ts'
import type { HookLaunch } from './hook-launchers.ts'

/** Processes of hooks, read from /proc (proc(5)). On a system without /proc, none are found. */

/** Rounds of a sweep. Each round finds the processes that were started during the previous one. */
const MAX_SWEEPS = 20

/** Returns the number of tasks of the machine, which is cheap to read. */
function countTasks(): number {
  return Number(/\/(\d+) /.exec(readProc('loadavg'))?.[1] ?? 0)
}

/** O_CLOEXEC as Linux has it on most machines; proc(5), fdinfo. */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Returns the descriptors after the first three that child processes inherit. This process was
 * started with them. All descriptors that Node opens are closed on exec(3).
 */
function inheritedDescriptors(): number[] {
  return namesIn('self/fdinfo').filter((fd) => {
    const flags = /^flags:\s+([0-7]+)/m.exec(readProc(`self/fdinfo/${fd}`))?.[1]
    return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  })
}

/**
 * Returns the processes in the session of a process, and the descendants whose ancestors still run.
 */
export function familyOf(leader: number): number[] {
  const children = new Map<number, number[]>()
  const family = new Set<number>()
  for (const pid of allProcesses()) {
    const { parent, session } = readStat(pid)
    children.set(parent, [...(children.get(parent) ?? []), pid])
    if (session === leader) family.add(pid)
  }
  // The loop visits the entries that it adds.
  const walked = new Set([leader, ...family])
  for (const pid of walked) for (const child of children.get(pid) ?? []) walked.add(child)
  walked.delete(leader)
  return [...walked]
}

/**
 * Ends the processes in the session of a process, and all processes with a mark in their
 * environment. A process that has left the session and cleared its environment is not found.
 *
 * @param leader the leader of the session. Undefined when the session is unknown.
 * @param mark unique start of an environment entry.
 */
export function sweep(leader: number | undefined, mark: string): void {
  for (let i = 0; i < MAX_SWEEPS; i += 1) {
    const left = allProcesses().filter((pid) => {
      const { session, isGone } = readStat(pid)
      return !isGone && (session === leader || hasEntry(pid, mark))
    })
    if (left.length === 0) return
    for (const pid of left) endProcess(pid)
  }
}

function hasEntry(pid: number, beginning: string): boolean {
  return `\0${readProc(`${pid}/environ`)}`.includes(`\0${beginning}`)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

function allProcesses(): number[] {
  return namesIn('')
}

/** Returns the numeric names in a folder of /proc. */
function namesIn(folder: string): number[] {
  try {
    return readdirSync(`/proc/${folder}`).flatMap((name) =>
      /^\d+$/.test(name) ? Number(name) : [],
    )
  } catch {
    return []
  }
}

/** Reads `stat`. The last `) ` ends the program name, which may contain any characters. */
function readStat(pid: number): { parent: number; session: number; isGone: boolean } {
  const [state = '', parent, , session] =
    readProc(`${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return {
    parent: Number(parent),
    session: Number(session),
    isGone: state === 'Z' || state === 'X',
  }
}

/** Returns a file of /proc. Empty when the process has ended or belongs to another user. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}

/** A run of a script. */
export interface HookRun {
  /** Name of the hook in githooks(5). */
  readonly hook: string
  readonly script: string
  readonly args: readonly string[]
  /** Standard input. */
  readonly input: string
  /** Path of the bare repository, the working directory of the script. */
  readonly repository: string
  /** Folder of the objects of a push under review, in the repository. */
  readonly quarantine: string | undefined
  /** Added to a clean environment. */
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Stops the script. */
  readonly signal: AbortSignal | undefined
}

/** The end of a run: accepted or refused, stopped for a reason, or not started. */
export type HookEnding =
  | 'passed'
  | 'failed'
  | 'timeout'
  | 'output'
  | 'processes'
  | 'aborted'
  | 'not-started'

export interface HookResult {
  readonly ending: HookEnding
  /** Beginning of both outputs of the script. */
  readonly output: string
  /** Output of the launcher. For the log. */
  readonly stderr: string
}

/**
 * Returns the environment entry that marks the processes of a run.
 *
 * @param folder folder of the run, or a parent folder with a trailing slash for many runs.
 */
export function markOf(folder: string): string {
  return `${MARK}=${folder}`
}

/** Files in the folder of a run. Scripts may open `/dev/stdin`, which fails for pipes of Node. */
export const INPUT_FILE = 'input'
const OUTPUT_PIPE = 'output'

/** Output that users see. */
const MAX_SHOWN_BYTES = 64 * 1024

/** Output after which a script is stopped. */
const MAX_PRINTED_BYTES = 16 * 1024 * 1024

/** Longest message of the launcher. */
const MAX_STDERR_CHARACTERS = 2_000

/**
 * Processes after which a script is stopped. The limit of the sandbox is higher, since it does not
 * apply to root and a script that reaches it may wait forever.
 */
const MAX_PROCESSES = 200

/** Interval of checks. A fork bomb starts several hundred processes in this time. */
const WATCH_INTERVAL_MS = 50

/** New tasks on the machine after which the processes of the script are counted, which is slow. */
const SUSPICIOUS_TASKS = 100

/** Time for the rest of the output after all known processes have ended. */
const DRAIN_MS = 500

/** Replaces each inherited descriptor that a script must not have. */
const NOTHING = '/dev/null'

/** Marks the processes of a run. The value is its folder; in a sandbox, the name of the folder. */
const MARK = 'HOOK_RUN'

const execute = promisify(execFile)

/** Descriptors that this process was started with. */
const inherited = inheritedDescriptors()

/**
 * Runs a script, and stops it when it takes too long, prints too much or starts too many processes.
 * When the function returns, no process of the script runs.
 *
 * @param folder folder of the run, which contains the input.
 */
export async function superviseHook(
  folder: string,
  launch: HookLaunch,
  { args, repository, quarantine, env, timeoutMs, signal }: HookRun,
): Promise<HookResult> {
  if (signal?.aborted) return { ending: 'aborted', output: '', stderr: '' }
  const paths = {
    repository: launch.repository,
    home: launch.home,
    quarantine: inside(launch, repository, quarantine),
  }
  const { child, reader } = await start(folder, [...launch.command, ...args], repository, {
    ...environmentOf(paths),
    ...env,
    // A script in a sandbox does not see the path.
    [MARK]: launch.isContained ? basename(folder) : folder,
  })
  let stopped: HookEnding | undefined
  const stop = (why: HookEnding) => {
    stopped ??= why
    endGroup(child)
  }
  const printed = collect(reader, () => stop('output'))
  const stderr = collectErrors(child)
  const timeout = setTimeout(() => stop('timeout'), timeoutMs)
  const tasks = countTasks()
  const watch = setInterval(() => {
    if (countTasks() - tasks > SUSPICIOUS_TASKS && familyOf(child.pid ?? 0).length > MAX_PROCESSES)
      stop('processes')
  }, WATCH_INTERVAL_MS)
  const abort = () => stop('aborted')
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  const endOthers = () => {
    // A sandbox ends with its processes, unless it is stopped while it starts: bwrap changes its
    // credentials then, which clears its parent-death signal for a moment (prctl(2)).
    if (!launch.isContained) sweep(child.pid, markOf(folder))
    else if (stopped !== undefined) sweep(child.pid, markOf(basename(folder)))
  }
  const code = await exitOf(child, endOthers)
  // A process that was just starting another program had no environment to read.
  endOthers()
  clearTimeout(timeout)
  clearInterval(watch)
  signal?.removeEventListener('abort', abort)
  await drained(reader)
  child.stderr?.destroy()
  // The launcher prints only when it fails.
  const failure = stderr.text === '' ? 'failed' : 'not-started'
  return {
    ending: stopped ?? (code === 0 ? 'passed' : failure),
    output: printed(),
    stderr: stderr.text,
  }
}

function inside(
  launch: HookLaunch,
  repository: string,
  quarantine: string | undefined,
): string | undefined {
  return quarantine === undefined
    ? undefined
    : join(launch.repository, relative(repository, quarantine))
}

/** Returns the environment of a hook (git-receive-pack(1), "Quarantine environment"). */
function environmentOf(paths: {
  repository: string
  home: string
  quarantine: string | undefined
}) {
  const { repository, home, quarantine } = paths
  return {
    ...cleanEnvironment(),
    ...configEnvironment(),
    // Scripts print text of users.
    LC_ALL: 'C.UTF-8',
    HOME: home,
    TMPDIR: home,
    GIT_DIR: repository,
    ...(quarantine !== undefined && {
      GIT_QUARANTINE_PATH: quarantine,
      GIT_OBJECT_DIRECTORY: quarantine,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository, 'objects'),
    }),
  }
}

/**
 * Starts a script with a file as its input and a named pipe as its output. Node would use sockets,
 * which scripts cannot open as /dev/stdin and /dev/stderr.
 */
async function start(
  folder: string,
  command: readonly string[],
  cwd: string,
  env: Record<string, string>,
) {
  const pipe = join(folder, OUTPUT_PIPE)
  await execute('mkfifo', ['-m', '600', pipe])
  const [program = '', ...args] = command
  const descriptors: number[] = []
  // The reader must open the pipe first, without waiting for a writer.
  const reader = new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false,
  })
  try {
    const input = openSync(join(folder, INPUT_FILE), 'r')
    descriptors.push(input)
    const output = openSync(pipe, constants.O_WRONLY)
    descriptors.push(output)
    const nothing = openSync(NOTHING, 'r')
    descriptors.push(nothing)
    const others = Array<number>(Math.max(2, ...inherited) - 2).fill(nothing)
    // `detached` creates a session and a process group.
    const child = spawn(program, args, {
      cwd,
      env,
      stdio: [input, output, 'pipe', ...others],
      detached: true,
    })
    return { child, reader }
  } catch (error) {
    reader.destroy()
    throw error
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor)
  }
}

/** Returns a function that returns the beginning of the output so far. */
function collect(reader: Socket, onTooMuch: () => void): () => string {
  const shown: Buffer[] = []
  let bytes = 0
  reader.on('data', (chunk: Buffer) => {
    if (bytes < MAX_SHOWN_BYTES) shown.push(chunk.subarray(0, MAX_SHOWN_BYTES - bytes))
    bytes += chunk.length
    if (bytes > MAX_PRINTED_BYTES) onTooMuch()
  })
  reader.on('error', () => {})
  return () => {
    // The last character may be incomplete.
    const text = new StringDecoder('utf8').write(Buffer.concat(shown))
    return bytes > MAX_SHOWN_BYTES ? `${text}\n(the rest is left out)\n` : text
  }
}

function collectErrors(child: ChildProcess): { text: string } {
  const errors = { text: '' }
  const add = (text: string) => {
    errors.text = (errors.text + text).slice(0, MAX_STDERR_CHARACTERS)
  }
  child.stderr?.setEncoding('utf8').on('data', add)
  child.once('error', ({ message }) => add(message))
  return errors
}

/**
 * Returns the exit status, or null when a signal ended the process or it could not be started.
 *
 * @param onExit ends what the process has left, which may keep its output open.
 */
function exitOf(child: ChildProcess, onExit: () => void): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('exit', onExit)
    // `close` waits for the output of the launcher, which scripts do not inherit.
    child.once('close', resolve)
    child.once('error', () => resolve(null))
  })
}

function endGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  // The id of a group whose leader has ended may belong to another group.
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  process.kill(-pid, 'SIGKILL')
}

/**
 * Resolves when the whole output has been read, or after `DRAIN_MS` when an unknown process keeps
 * the pipe open.
 */
async function drained(reader: Socket): Promise<void> {
  if (reader.closed) return
  await new Promise<void>((resolve) => {
    const deadline = setTimeout(resolve, DRAIN_MS)
    reader.once('close', () => {
      clearTimeout(deadline)
      resolve()
    })
  })
  reader.destroy()
}
