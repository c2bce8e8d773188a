import { join } from 'node:path'
import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit, type SpawnOptions } from '../processes/child-process.ts'
import type { Priority } from '../processes/priority.ts'
import type { GitProcesses } from '../processes/running-processes.ts'
import { listedObjects } from './large-texts.ts'

/** A file in Git LFS, as described by its pointer file. */
export interface LfsPointer {
  /** SHA-256 of the file, as hexadecimal digits. */
  readonly oid: string
  /** Size of the file. */
  readonly bytes: number
}

/**
 * The size limit of pointer files, exclusive (git-lfs specification, docs/spec.md, "The Pointer").
 */
export const MAX_POINTER_BYTES = 1024

const VERSION = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n/
const OID = /^oid sha256:([0-9a-f]{64})$/m
const SIZE = /^size (\d{1,15})$/m

/** Parses a pointer file of Git LFS. Returns undefined for any other content. */
export function parseLfsPointer(content: Buffer): LfsPointer | undefined {
  if (content.length >= MAX_POINTER_BYTES) return undefined
  const text = content.toString('latin1')
  const [oid, size] = [OID.exec(text)?.[1], SIZE.exec(text)?.[1]]
  return VERSION.test(text) && oid !== undefined && size !== undefined
    ? { oid, bytes: Number(size) }
    : undefined
}

/** Shortest pointer file: the line of the version, that of the oid, and a size of one digit. */
const MIN_POINTER_BYTES = 126

/** Ids of objects that one process reads. Together they take 82 KiB. */
const BLOBS_PER_PROCESS = 2000

/** Enough to read the small files of a large push. */
const TIMEOUT_MS = 5 * 60_000

/**
 * Searches new objects for a pointer file of Git LFS. Reads only files of the size of a pointer.
 *
 * @param repository path of the repository.
 * @param objects path of the folder of objects. Its alternates are searched too.
 * @returns the id of such a file, or undefined.
 */
export async function findLfsPointer(
  processes: GitProcesses,
  repository: string,
  objects: string,
): Promise<string | undefined> {
  const limits = { maxFiles: Number.POSITIVE_INFINITY, timeoutMs: TIMEOUT_MS }
  for await (const { id } of listLfsPointers(processes, repository, objects, limits)) return id
  return undefined
}

/** How far objects are searched. */
export interface PointerLimits {
  /** Files of the size of a pointer. */
  readonly maxFiles: number
  readonly timeoutMs: number
  /** Kind of work of the processes. Default: `call`. */
  readonly priority?: Priority
}

/** More files than the limits allow. */
export class TooManyFilesError extends Error {
  override readonly name = 'TooManyFilesError'
}

/**
 * Yields the pointer files of Git LFS among new objects, in no order. The other parameters are those
 * of `findLfsPointer`.
 *
 * @throws TooManyFilesError; GitError TIMEOUT, BUSY
 */
export async function* listLfsPointers(
  processes: GitProcesses,
  repository: string,
  objects: string,
  { maxFiles, timeoutMs }: PointerLimits,
): AsyncGenerator<LfsPointer & { readonly id: string }, void, undefined> {
  const env = { GIT_OBJECT_DIRECTORY: objects }
  const ids: string[] = []
  for await (const { type, bytes, id } of listedObjects(processes, repository, objects)) {
    if (type !== 'blob' || bytes < MIN_POINTER_BYTES || bytes >= MAX_POINTER_BYTES) continue
    if (ids.length >= maxFiles) throw new TooManyFilesError('there are more files than may be read')
    ids.push(id)
  }
  const deadline = performance.now() + timeoutMs
  for (let start = 0; start < ids.length; start += BLOBS_PER_PROCESS) {
    const some = ids.slice(start, start + BLOBS_PER_PROCESS)
    const left = Math.max(deadline - performance.now(), 1)
    yield* pointersAmong(some, { processes, repository, env, timeoutMs: left })
  }
}

/**
 * Yields the pointer files of Git LFS that commits reach (git-rev-list(1), `--objects`), in no order.
 *
 * @param repository path of the repository.
 * @param range revisions as `git rev-list` takes them, such as `--all`.
 * @throws TooManyFilesError; GitError TIMEOUT, BUSY
 */
export async function* listReachablePointers(
  processes: GitProcesses,
  repository: string,
  range: readonly string[],
  { maxFiles, timeoutMs, priority = 'call' }: PointerLimits,
): AsyncGenerator<LfsPointer & { readonly id: string }, void, undefined> {
  const deadline = performance.now() + timeoutMs
  const options = () => ({
    processes,
    repository,
    priority,
    timeoutMs: Math.max(deadline - performance.now(), 1),
  })
  const filters = ['object:type=blob', `blob:limit=${MAX_POINTER_BYTES}`]
  const args = ['rev-list', '--objects', ...filters.map((filter) => `--filter=${filter}`), ...range]
  // All ids come first: two processes at once would hold two slots that other calls wait for.
  const ids: string[] = []
  const chunks = printedByGit(args, options())
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      if (ids.length >= maxFiles)
        throw new TooManyFilesError('there are more files than may be read')
      ids.push(line.split(' ', 1)[0] ?? '')
    }
  } finally {
    await chunks.return()
  }
  for (let start = 0; start < ids.length; start += BLOBS_PER_PROCESS)
    yield* pointersAmong(ids.slice(start, start + BLOBS_PER_PROCESS), options())
}

/**
 * Yields the pointer files among files (git-cat-file(1), `--batch`).
 *
 * @param ids ids or other names of the files, as git-cat-file(1) takes them.
 */
async function* pointersAmong(
  ids: readonly string[],
  options: SpawnOptions,
): AsyncGenerator<LfsPointer & { readonly id: string }, void, undefined> {
  const input = ids.map((id) => `${id}\n`).join('')
  for await (const { id, content } of contentsOf(input, options)) {
    const pointer = parseLfsPointer(content)
    if (pointer) yield { ...pointer, id }
  }
}

/**
 * Yields the pointer files at some paths of a commit, in the order of the paths. Paths with line feeds
 * are left out.
 *
 * @param repository path of the repository.
 * @throws GitError TIMEOUT, BUSY
 */
export async function* listPointersAt(
  processes: GitProcesses,
  repository: string,
  commitId: string,
  paths: readonly string[],
): AsyncGenerator<LfsPointer & { readonly id: string }, void, undefined> {
  const names = paths.filter((path) => !path.includes('\n')).map((path) => `${commitId}:${path}`)
  yield* pointersAmong(names, { processes, repository, timeoutMs: TIMEOUT_MS })
}

/** Files of attributes are read up to this size. */
const MAX_ATTRIBUTES_BYTES = 64 * 1024

/** Commits whose attributes are read. */
const MAX_COMMITS = 100

/**
 * Returns whether the attributes in the top folder of one of some commits name Git LFS.
 *
 * @param objects path of the folder of new objects; undefined where all are in the repository.
 */
export async function usesLfs(
  processes: GitProcesses,
  { repository, objects }: { readonly repository: string; readonly objects: string | undefined },
  commitIds: readonly string[],
): Promise<boolean> {
  const env =
    objects === undefined
      ? {}
      : {
          GIT_OBJECT_DIRECTORY: objects,
          GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository, 'objects'),
        }
  const commits = commitIds.slice(0, MAX_COMMITS)
  const input = commits.map((id) => `${id}:.gitattributes\n`).join('')
  const options = { processes, repository, env, timeoutMs: TIMEOUT_MS }
  for await (const { content } of contentsOf(input, options, MAX_ATTRIBUTES_BYTES))
    if (content.includes('filter=lfs')) return true
  return false
}

/** Yields the contents of objects that exist, up to a size. */
async function* contentsOf(
  input: string,
  options: SpawnOptions,
  maxBytes = MAX_POINTER_BYTES,
): AsyncGenerator<{ readonly id: string; readonly content: Buffer }, void, undefined> {
  const chunks = printedByGit(['cat-file', '--batch', '--buffer'], options, input)
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      // The name of a missing object may have spaces.
      if (line.endsWith(' missing')) continue
      const [id = '', , size] = line.split(' ')
      const content = await output.bytes(Number(size), maxBytes)
      await output.bytes(1, 0)
      yield { id, content }
    }
  } finally {
    await chunks.return()
  }
}
