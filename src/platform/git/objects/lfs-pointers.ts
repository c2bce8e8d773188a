import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit, type SpawnOptions } from '../processes/child-process.ts'
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
const MAX_POINTER_BYTES = 1024

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
  const options = {
    processes,
    repository,
    env: { GIT_OBJECT_DIRECTORY: objects },
    timeoutMs: TIMEOUT_MS,
  }
  const ids: string[] = []
  for await (const { type, bytes, id } of listedObjects(processes, repository, objects)) {
    if (type === 'blob' && bytes >= MIN_POINTER_BYTES && bytes < MAX_POINTER_BYTES) ids.push(id)
  }
  for (let start = 0; start < ids.length; start += BLOBS_PER_PROCESS) {
    const found = await pointerAmong(ids.slice(start, start + BLOBS_PER_PROCESS), options)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the id of the first pointer file among small files (git-cat-file(1), `--batch`). */
async function pointerAmong(
  ids: readonly string[],
  options: SpawnOptions,
): Promise<string | undefined> {
  const input = ids.map((id) => `${id}\n`).join('')
  const chunks = printedByGit(['cat-file', '--batch', '--buffer'], options, input)
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const [id, , size] = line.split(' ')
      const content = await output.bytes(Number(size), MAX_POINTER_BYTES)
      await output.bytes(1, 0)
      if (parseLfsPointer(content)) return id
    }
    return undefined
  } finally {
    await chunks.return()
  }
}
