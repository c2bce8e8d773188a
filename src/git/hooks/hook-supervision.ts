import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join, relative } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { promisify } from 'node:util'
import { cleanEnvironment, configEnvironment } from '../processes/child-process.ts'
import type { HookLaunch } from './hook-launchers.ts'
import { countTasks, familyOf, inheritedDescriptors, sweep } from './hook-processes.ts'

/** A script, and what it is run for. */
export interface HookRun {
  /** As githooks(5) calls it. */
  readonly hook: string
  readonly script: string
  readonly args: readonly string[]
  /** Standard input. */
  readonly input: string
  /** Path of the bare repository, in which it runs. */
  readonly repository: string
  /** Folder of the objects of a push under review, below the repository. */
  readonly quarantine: string | undefined
  /** Added to a clean environment. */
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Stops it. */
  readonly signal: AbortSignal | undefined
}

/** How a run ended: the script said yes or no; it was stopped, and for what; it never began. */
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
  /** What it printed, on both outputs, as far as it is kept. */
  readonly output: string
  /** Of what was to start it. For the log. */
  readonly stderr: string
}

/**
 * The entry of the environment by which what is left of a run is known.
 *
 * @param folder of the run; with a slash at the end, one of many of them.
 */
export function markOf(folder: string): string {
  return `${MARK}=${folder}`
}

/**
 * In the folder of a run. A script may open its input by name, which works with a file and not with
 * what Node has for pipes.
 */
export const INPUT_FILE = 'input'
const OUTPUT_PIPE = 'output'

/** People read a page or two. */
const MAX_KEPT_BYTES = 64 * 1024

/** Beyond that nobody means to print it. */
const MAX_PRINTED_BYTES = 16 * 1024 * 1024

/** Of the launcher, which has a sentence to say. */
const MAX_STDERR_CHARACTERS = 2_000

/**
 * Less than the sandbox lets it start: that limit does not hold for root, and who meets it may only
 * wait for ever.
 */
const MAX_PROCESSES = 200

/** What a fork bomb makes in that time, some hundreds of processes, can still be ended. */
const WATCH_INTERVAL_MS = 50

/**
 * So many more tasks on the whole machine, and it is worth the milliseconds to look whose they are.
 */
const SUSPICIOUS_TASKS = 100

/** For the last of the output, when everybody who could print has ended as far as one can see. */
const DRAIN_MS = 500

/** Takes the place of each descriptor that is no business of a script. */
const NOTHING = '/dev/null'

/** Variable by which processes are known that nothing contains. It names the folder of the run. */
const MARK = 'HOOK_RUN'

const execute = promisify(execFile)

/** As the process was started. */
const inherited = inheritedDescriptors()

/**
 * Starts a script, and stops it when it takes too long, prints too much or starts too many
 * processes. When this resolves, nothing of it runs any more.
 *
 * @param folder of the run, which holds its input.
 */
export async function superviseHook(
  folder: string,
  launch: HookLaunch,
  { args, repository, quarantine, env, timeoutMs, signal }: HookRun,
): Promise<HookResult> {
  if (signal?.aborted) return { ending: 'aborted', output: '', stderr: '' }
  const place = {
    repository: launch.repository,
    home: launch.home,
    quarantine: inside(launch, repository, quarantine),
  }
  const { child, reader } = await start(folder, [...launch.command, ...args], repository, {
    ...environmentOf(place),
    ...env,
    ...(!launch.isContained && { [MARK]: folder }),
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
  const code = await exitOf(child)
  clearTimeout(timeout)
  clearInterval(watch)
  signal?.removeEventListener('abort', abort)
  if (!launch.isContained) sweep(child.pid, markOf(folder))
  await drained(reader)
  child.stderr?.destroy()
  // What starts a script is silent unless it fails.
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

/** As Git has it for hooks; `quarantine` as in git-receive-pack(1), "Quarantine environment". */
function environmentOf(place: {
  repository: string
  home: string
  quarantine: string | undefined
}) {
  const { repository, home, quarantine } = place
  return {
    ...cleanEnvironment(),
    ...configEnvironment(),
    // Scripts print what people wrote.
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
 * Starts a script with a file as its input and a named pipe as its output: what Node makes for that
 * are sockets, which nobody can open by the names /dev/stdin and /dev/stderr.
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
  // The reader first, and without waiting for a writer; then the writer finds one.
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
    // A session and a process group of its own.
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

/** @returns what has been read so far, as far as it is kept. */
function collect(reader: Socket, onTooMuch: () => void): () => string {
  const kept: Buffer[] = []
  let bytes = 0
  reader.on('data', (chunk: Buffer) => {
    if (bytes < MAX_KEPT_BYTES) kept.push(chunk.subarray(0, MAX_KEPT_BYTES - bytes))
    bytes += chunk.length
    if (bytes > MAX_PRINTED_BYTES) onTooMuch()
  })
  reader.on('error', () => {})
  return () => {
    // The last character may have been cut in two.
    const text = new StringDecoder('utf8').write(Buffer.concat(kept))
    return bytes > MAX_KEPT_BYTES ? `${text}\n(the rest is left out)\n` : text
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

/** Exit status; null where there is none, and for what could not be started. */
function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    // When the launcher's own output has ended, too, which no script has in its hands.
    child.once('close', resolve)
    child.once('error', () => resolve(null))
  })
}

function endGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  // The id of a group whose leader is gone may be anybody's.
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  process.kill(-pid, 'SIGKILL')
}

/**
 * Resolves when all that was printed has been read, or somebody who cannot be found keeps the pipe
 * open.
 */
async function drained(reader: Socket): Promise<void> {
  if (reader.closed) return
  await new Promise<void>((resolve) => {
    const impatience = setTimeout(resolve, DRAIN_MS)
    reader.once('close', () => {
      clearTimeout(impatience)
      resolve()
    })
  })
  reader.destroy()
}
