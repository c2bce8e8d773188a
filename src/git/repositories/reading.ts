import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Pace } from '../../concurrency/pace.ts'
import { GitError } from '../core/errors.ts'
import { EMPTY_TREE } from '../core/object-ids.ts'
import { spawnGit } from '../processes/child-process.ts'
import { ProcessLimit } from '../processes/process-limits.ts'
import { currentReader } from '../processes/readers.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/** What a git that reads may take by default, once it runs. */
const READ_TIMEOUT_MS = 20_000

/** What a git may take that has much to write: to a client over a slow line, or to the disk. */
const STREAM_TIMEOUT_MS = 10 * 60_000

/** How long a git may be there that is asked one thing after the other. */
export const MAX_CONVERSATION_MS = 10 * 60_000

/** For those who have a place already. */
const OPEN_GATE = new ProcessLimit(Number.POSITIVE_INFINITY, 0)

/**
 * For who is stopped by the timeout of a reading to be stopped by it, and not by that of the
 * process.
 */
const STOP_PATIENCE_MS = 30_000

/** A file that came as a delta is made of another one in memory, where both have to fit. */
const STREAM_MEMORY_BYTES = 1024 ** 3

/**
 * Of a file that is compared by lines, of which git makes up to 70 times as much in memory where
 * they are empty.
 */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024

const CONFIG = [
  // Larger files are binary to diffs.
  `core.bigFileThreshold=${MAX_TEXT_BYTES}`,
  // What strangers push, such as `* -diff`, decides nothing of what others are shown: since 2.43 a
  // bare repository has the attributes of HEAD.
  `attr.tree=${EMPTY_TREE}`,
]

const ENVIRONMENT = { GIT_OPTIONAL_LOCKS: '0' }

export interface ReadOptions {
  /** For its input; as a stream for what is asked as the answers come. */
  readonly input?: string | Readable
  readonly timeoutMs?: number
  /** Ends it, with its reason for an error. */
  readonly signal?: AbortSignal | undefined
  /** Another repository whose objects count too. */
  readonly alsoFrom?: number
  /** Folder of objects that came with a push and count too. */
  readonly quarantine?: string | undefined
  /** Folder that what git stores goes to, not flushed, in place of the repository. */
  readonly scratch?: string | undefined
  /** Folder that git is to take for a work tree. */
  readonly workTree?: string
  /** Whether paths behind `--` are patterns (gitglossary(7), "pathspec"); else they are literal. */
  readonly hasPathPatterns?: boolean
  /** Whether the caller has a place among those who read, and waits for no other one. */
  readonly hasPlace?: boolean
  /** As in `SpawnOptions`. */
  readonly maxMemoryBytes?: number
}

/**
 * Runs a git that reads, and gives out what it prints. Leaving the iteration early ends the
 * process.
 *
 * @param args where what clients sent comes behind `--` or `--end-of-options`, or is an object id.
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY
 */
export function readGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: ReadOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  return run(repositories, id, args, options.hasPlace ? OPEN_GATE : repositories.readers, options)
}

/**
 * As `readGit`, for what may last minutes, as output to a client does who may be slow: it takes up
 * no place that others wait for, and a client who is too slow loses it to whoever finds none.
 *
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY
 */
export function streamGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: Pick<ReadOptions, 'input' | 'hasPathPatterns'> = {},
): AsyncGenerator<Buffer, void, undefined> {
  const pace = new Pace(repositories.streamPace)
  const limits = {
    ...options,
    pace,
    timeoutMs: STREAM_TIMEOUT_MS,
    maxMemoryBytes: STREAM_MEMORY_BYTES,
  }
  return run(repositories, id, args, repositories.streams, limits)
}

/**
 * Runs a git that brings objects from one repository to another, to its end. It may last minutes,
 * and waits neither for those who read slowly nor keeps those who read from it waiting.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function transferByGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
): Promise<void> {
  const limits = {
    timeoutMs: STREAM_TIMEOUT_MS,
    maxMemoryBytes: repositories.processes.maxMemoryBytes,
  }
  await textOf(run(repositories, id, args, repositories.transfers, limits))
}

/**
 * As `readGit`, for a git that is asked one thing after the other. Who asks takes a place, and sees
 * to the time of each answer.
 *
 * @throws GitError TIMEOUT when it is there for longer than any may.
 */
export function converseWithGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: Omit<ReadOptions, 'timeoutMs'>,
): AsyncGenerator<Buffer, void, undefined> {
  return run(repositories, id, args, OPEN_GATE, { timeoutMs: MAX_CONVERSATION_MS, ...options })
}

async function* run(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  gate: ProcessLimit,
  options: ReadOptions & { readonly pace?: Pace },
): AsyncGenerator<Buffer, void, undefined> {
  const { input, timeoutMs = READ_TIMEOUT_MS, signal, pace } = options
  let evict = () => {}
  const guest = { holder: currentReader()?.holder, ...(pace && { pace, evict: () => evict() }) }
  const leave = await gate.enter(guest)
  let git: GitProcess
  try {
    git = start(repositories, id, args, options)
  } catch (error) {
    leave()
    throw error
  }
  let cause: unknown
  const stopFor = (reason: unknown) => {
    cause = reason
    git.stop()
    leave()
  }
  evict = () => stopFor(new GitError('TIMEOUT', `what git ${args[0]} printed was read too slowly`))
  // Not left to the consumer, who may have stopped asking for more.
  const timeout = setTimeout(() => stopFor(tookTooMuch(args)), timeoutMs)
  const abort = () => stopFor(signal?.reason)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  if (typeof input === 'object') input.pipe(git.stdin)
  else git.stdin.end(input)
  try {
    yield* pace ? pace.follow(git.stdout) : git.stdout
    const { code, stderr } = await git.exited
    // Without a code it was killed: by the timeout, or by the kernel for what overflows its stack
    // or the memory.
    if (code === null) throw tookTooMuch(args)
    if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  } catch (error) {
    throw cause ?? error
  } finally {
    clearTimeout(timeout)
    signal?.removeEventListener('abort', abort)
    git.stop()
    leave()
  }
}

function start(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: ReadOptions,
): GitProcess {
  const {
    alsoFrom,
    quarantine,
    scratch,
    workTree,
    timeoutMs = READ_TIMEOUT_MS,
    maxMemoryBytes,
  } = options
  const config = CONFIG.flatMap((entry) => ['-c', entry])
  // Git finds what is in a work tree from within it (setup_explicit_git_dir in setup.c of Git).
  if (workTree !== undefined) config.unshift('-C', workTree)
  if (scratch !== undefined) config.push('-c', 'core.fsync=none')
  const repository = repositoryPath(repositories, id)
  const env = {
    ...ENVIRONMENT,
    // Paths come from strangers: nothing in them is a pattern, unless who asks has made one.
    GIT_LITERAL_PATHSPECS: options.hasPathPatterns ? '0' : '1',
    ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    ...(scratch === undefined ? {} : { GIT_OBJECT_DIRECTORY: scratch }),
    ...alternatesOf([
      ...(scratch === undefined ? [] : [join(repository, 'objects')]),
      ...(alsoFrom === undefined ? [] : [join(repositoryPath(repositories, alsoFrom), 'objects')]),
      ...(quarantine === undefined ? [] : [quarantine]),
    ]),
  }
  const limits = {
    timeoutMs: timeoutMs + STOP_PATIENCE_MS,
    ...(maxMemoryBytes !== undefined && { maxMemoryBytes }),
  }
  return spawnGit([...config, ...args], {
    processes: repositories.processes,
    repository,
    env,
    ...limits,
  })
}

/**
 * Folders of objects that git is to look into too. Quoted, since a colon would end a path (git(1),
 * GIT_ALTERNATE_OBJECT_DIRECTORIES).
 */
function alternatesOf(folders: readonly string[]): Record<string, string> {
  if (folders.length === 0) return {}
  const quoted = folders.map((folder) => `"${folder.replace(/["\\]/g, '\\$&')}"`)
  return { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted.join(':') }
}

function tookTooMuch(args: readonly string[]): GitError {
  return new GitError('TIMEOUT', `git ${args[0]} took more than it may`)
}

/**
 * Bytes between two separators, and the rest: for output of `-z`.
 *
 * @param maxBytes of one of them; what is longer is cut.
 */
export async function* splitAtZeros(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let pending: Buffer[] = []
  let pendingBytes = 0
  const keep = (piece: Buffer) => {
    if (pendingBytes >= maxBytes) return
    pending.push(piece.subarray(0, maxBytes - pendingBytes))
    pendingBytes += piece.length
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      keep(chunk.subarray(start, end))
      yield pending.length === 1 ? (pending[0] ?? Buffer.alloc(0)) : Buffer.concat(pending)
      pending = []
      pendingBytes = 0
      start = end + 1
    }
    keep(chunk.subarray(start))
  }
  if (pendingBytes > 0) yield Buffer.concat(pending)
}

/** All of an output, as text. For little of it. */
export async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces).toString()
}
