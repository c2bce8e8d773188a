import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FairSlots } from '../../concurrency/fair-slots.ts'
import { Pace } from '../../concurrency/pace.ts'
import { GitError } from '../core/errors.ts'
import { EMPTY_TREE } from '../core/object-ids.ts'
import { isPrunedNow, ObjectAwayError, repeatWhileAway } from '../maintenance/limbo.ts'
import { spawnGit } from '../processes/child-process.ts'
import type { Priority } from '../processes/priority.ts'
import { createProcessSlots } from '../processes/process-slots.ts'
import { currentHolder } from '../processes/readers.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/** Default time limit of a process that reads. Waiting for a slot does not count. */
const READ_TIMEOUT_MS = 20_000

/** Time limit of a process that writes much, to a slow client or to the disk. */
const STREAM_TIMEOUT_MS = 10 * 60_000

/** Time limit of a process that answers many requests. */
export const MAX_CONVERSATION_MS = 10 * 60_000

/** What Git says about an object that it does not find. */
const MISSING_OBJECT = /unable to (read|find)|bad object|missing|could not/

/** For callers that hold a slot already. */
const UNLIMITED = createProcessSlots({ max: Number.POSITIVE_INFINITY })

/** The time limit of the process exceeds that of the read, which therefore always ends first. */
const STOP_GRACE_MS = 30_000

/** Git expands a delta in memory, which must hold both the file and its base. */
const STREAM_MEMORY_BYTES = 1024 ** 3

/**
 * Largest file that is compared by lines. For a file of empty lines, Git needs 70 times the size in
 * memory.
 */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024

const CONFIG = [
  // Diffs treat larger files as binary.
  `core.bigFileThreshold=${MAX_TEXT_BYTES}`,
  // Pushed attributes, such as `* -diff`, must not change what others see: since Git 2.43, a bare
  // repository has the attributes of HEAD.
  `attr.tree=${EMPTY_TREE}`,
]

const ENVIRONMENT = { GIT_OPTIONAL_LOCKS: '0' }

export interface ReadOptions {
  /** Standard input. A stream when the input depends on the output. */
  readonly input?: string | Readable
  readonly timeoutMs?: number
  /** Ends the process and throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Another repository whose objects Git can read too. */
  readonly alsoFrom?: number
  /** Folder of the objects of a push under review, which Git can read too. */
  readonly quarantine?: string | undefined
  /** Folder that Git stores objects in, unflushed, instead of the repository. */
  readonly scratch?: string | undefined
  /** Folder that Git uses as a work tree. */
  readonly workTree?: string
  /** Whether paths after `--` are patterns (gitglossary(7), "pathspec"). Default: literal paths. */
  readonly hasPathPatterns?: boolean
  /** Whether the caller holds a slot of a reader already. */
  readonly hasSlot?: boolean
  /** Memory limit of each process. */
  readonly maxMemoryBytes?: number
  readonly priority?: Priority
  /** Whether Git collects short records before it writes them, which costs both sides less. */
  readonly isBuffered?: boolean
  /** Whether Git reads texts as UTF-8 where it compares letters, and not as bytes. */
  readonly isUtf8?: boolean
  /** Exit status that means that Git found nothing, beside 0. */
  readonly emptyStatus?: number
  /**
   * Whether the caller asks what a prune has removed, so that nothing waits until objects come back:
   * the prune may wait for the caller.
   */
  readonly asksAboutPrune?: boolean
}

/**
 * Runs a Git process that reads, and yields its output. Leaving the iteration early ends the
 * process.
 *
 * @param args values of clients must follow `--` or `--end-of-options`, or be object ids.
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY
 */
export function readGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: ReadOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  return run(repositories, id, args, options.hasSlot ? UNLIMITED : repositories.readers, options)
}

/**
 * Runs a Git process whose output goes to a client and may last minutes. Such processes take no
 * slots of readers. A client that reads too slowly loses its slot when another call needs one.
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
    priority: 'transfer' as const,
  }
  return run(repositories, id, args, repositories.streams, limits)
}

/**
 * Runs a Git process that transfers objects between repositories, to its end. The process may last
 * minutes and takes no slots of readers or streams.
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
    priority: 'transfer' as const,
  }
  await textOf(run(repositories, id, args, repositories.transfers, limits))
}

/**
 * Runs a Git process that answers many requests. The caller takes a slot and limits the time of
 * each answer.
 *
 * @throws GitError TIMEOUT when the process runs for longer than `MAX_CONVERSATION_MS`.
 */
export function converseWithGit(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  options: Omit<ReadOptions, 'timeoutMs'>,
): AsyncGenerator<Buffer, void, undefined> {
  return run(repositories, id, args, UNLIMITED, { timeoutMs: MAX_CONVERSATION_MS, ...options })
}

/** Runs a process, again while a prune has an object without which the process has no output. */
async function* run(...order: Parameters<typeof runOnce>): AsyncGenerator<Buffer, void, undefined> {
  const { input, asksAboutPrune } = order[4]
  if (asksAboutPrune || typeof input === 'object') {
    yield* runOnce(...order)
    return
  }
  const { chunks, first } = await repeatWhileAway(async () => {
    const begun = runOnce(...order)
    return { chunks: begun, first: await begun.next() }
  })
  if (first.done) return
  try {
    yield first.value
    yield* chunks
  } finally {
    await chunks.return()
  }
}

async function* runOnce(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  slots: FairSlots,
  options: ReadOptions & { readonly pace?: Pace },
): AsyncGenerator<Buffer, void, undefined> {
  const { input, timeoutMs = READ_TIMEOUT_MS, signal, pace } = options
  let evict = () => {}
  const release = await slots.acquire({
    holder: currentHolder(),
    ...(pace && { isTooSlow: () => pace.isTooSlow(), evict: () => evict() }),
  })
  let git: GitProcess
  try {
    git = start(repositories, id, args, options)
  } catch (error) {
    release()
    throw error
  }
  let cause: unknown
  const stopFor = (reason: unknown) => {
    cause = reason
    git.stop()
    release()
  }
  evict = () => stopFor(new GitError('TIMEOUT', `the output of git ${args[0]} was read too slowly`))
  // The consumer cannot check the time, since it may have stopped reading.
  const timeout = setTimeout(() => stopFor(limitExceeded(args)), timeoutMs)
  const abort = () => stopFor(signal?.reason)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  if (typeof input === 'object') input.pipe(git.stdin)
  else git.stdin.end(input)
  try {
    yield* pace ? pace.follow(git.stdout) : git.stdout
    const { code, stderr } = await git.exited
    // A process without a code was killed: by the time limit, or by the kernel for a stack overflow
    // or too much memory.
    if (code === null) throw limitExceeded(args)
    if (code !== 0 && code !== options.emptyStatus) {
      if (MISSING_OBJECT.test(stderr) && (await isPrunedNow(repositories, id)))
        throw new ObjectAwayError()
      throw new Error(`git ${args[0]} failed: ${stderr}`)
    }
  } catch (error) {
    throw cause ?? error
  } finally {
    clearTimeout(timeout)
    signal?.removeEventListener('abort', abort)
    git.stop()
    release()
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
    priority,
  } = options
  const config = CONFIG.flatMap((entry) => ['-c', entry])
  // Git must run in the work tree to find its files (setup_explicit_git_dir in setup.c of Git).
  if (workTree !== undefined) config.unshift('-C', workTree)
  if (scratch !== undefined) config.push('-c', 'core.fsync=none')
  const repository = repositoryPath(repositories, id)
  const env = {
    ...ENVIRONMENT,
    // Paths come from clients and must not be read as patterns.
    GIT_LITERAL_PATHSPECS: options.hasPathPatterns ? '0' : '1',
    ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    ...(options.isBuffered ? { GIT_FLUSH: '0' } : {}),
    // The C.UTF-8 locale has no translations, so messages stay as they are.
    ...(options.isUtf8 ? { LC_ALL: 'C.UTF-8' } : {}),
    ...(scratch === undefined ? {} : { GIT_OBJECT_DIRECTORY: scratch }),
    ...alternatesOf([
      ...(scratch === undefined ? [] : [join(repository, 'objects')]),
      ...(alsoFrom === undefined ? [] : [join(repositoryPath(repositories, alsoFrom), 'objects')]),
      ...(quarantine === undefined ? [] : [quarantine]),
    ]),
  }
  const limits = {
    timeoutMs: timeoutMs + STOP_GRACE_MS,
    ...(maxMemoryBytes !== undefined && { maxMemoryBytes }),
    ...(priority !== undefined && { priority }),
  }
  return spawnGit([...config, ...args], {
    processes: repositories.processes,
    repository,
    env,
    ...limits,
  })
}

/**
 * Returns the variable that names more folders of objects (git(1),
 * GIT_ALTERNATE_OBJECT_DIRECTORIES). The paths are quoted, since a colon separates them.
 */
function alternatesOf(folders: readonly string[]): Record<string, string> {
  if (folders.length === 0) return {}
  const quoted = folders.map((folder) => `"${folder.replace(/["\\]/g, '\\$&')}"`)
  return { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted.join(':') }
}

function limitExceeded(args: readonly string[]): GitError {
  return new GitError('TIMEOUT', `git ${args[0]} exceeded its limits`)
}

/**
 * Yields the records of an output with `-z`, which NUL separates.
 *
 * @param maxBytes maximum length of a record; longer records are truncated.
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

/** Returns a complete output as text. For commands with little output. */
export async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces).toString()
}
