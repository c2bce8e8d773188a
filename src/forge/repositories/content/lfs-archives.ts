import {
  listReachablePointers,
  MAX_POINTER_BYTES,
  parseLfsPointer,
  TooManyFilesError,
} from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import { DomainError } from '../../core/errors.ts'
import { intactContents } from '../lfs/lfs-networks.ts'
import { lfsKey } from '../lfs/lfs-objects.ts'
import type { LfsContent } from '../lfs/schema.ts'
import type { ReposApp } from '../ports.ts'
import type { ArchivedFile } from './archived-files.ts'
import { notFound, reading } from './git-reading.ts'

/** The objects of one archive together. */
const MAX_BYTES = 4 * 1024 ** 3 - 1

/** Files of an archive that are read for pointers, and the time of reading. */
const LIMITS = { maxFiles: 1_000_000, timeoutMs: 60_000 }

/** Objects that are looked up at a time. */
const OBJECTS_AT_A_TIME = 1_000

/** The objects that take the places of their pointers in an archive. */
export type ArchivedObjects = ReadonlyMap<string, LfsContent>

/**
 * Returns the objects of the pointers in some files and folders, as far as the repository has them.
 *
 * @param trees names of commits, folders and files, as git-rev-parse(1) takes them.
 * @throws LFS_ARCHIVE_TOO_LARGE, SERVER_BUSY, GIT_TIMEOUT
 */
export async function objectsOfArchive(
  app: ReposApp,
  repositoryId: number,
  trees: readonly string[],
): Promise<ArchivedObjects> {
  const objects = new Map<string, LfsContent>()
  if (!app.settings.lfs) return objects
  const oids = await reading(oidsIn(app, repositoryId, trees))
  for (let start = 0; start < oids.length; start += OBJECTS_AT_A_TIME) {
    const some = oids.slice(start, start + OBJECTS_AT_A_TIME)
    for (const [oid, content] of await intactContents(app, [repositoryId], some))
      objects.set(oid, content)
  }
  let bytes = 0
  for (const content of objects.values()) bytes += content.bytes
  if (bytes > MAX_BYTES) throw tooLarge()
  return objects
}

async function oidsIn(
  app: ReposApp,
  repositoryId: number,
  trees: readonly string[],
): Promise<string[]> {
  const path = repositoryPath(app.git, repositoryId)
  // A walk begins at the trees of this list, and visits no other commit.
  const range = [...trees]
  const oids = new Set<string>()
  try {
    for await (const { oid } of listReachablePointers(app.git.processes, path, range, LIMITS))
      oids.add(oid)
  } catch (error) {
    if (error instanceof TooManyFilesError) throw tooLarge()
    throw error
  }
  return [...oids]
}

/** Puts objects in the places of their pointers. */
export async function* withObjects(
  app: ReposApp,
  files: AsyncIterable<ArchivedFile>,
  objects: ArchivedObjects,
): AsyncGenerator<ArchivedFile, void, undefined> {
  let bytes = 0
  for await (const file of files) {
    if (file.type !== 'file' || file.bytes >= MAX_POINTER_BYTES) {
      yield file
      continue
    }
    const chunks: Buffer[] = []
    for await (const chunk of file.content) chunks.push(chunk)
    const pointer = parseLfsPointer(Buffer.concat(chunks))
    const object = pointer && objects.get(pointer.oid)
    if (!object) {
      yield { ...file, content: once(chunks) }
      continue
    }
    bytes += object.bytes
    // The same object can be in many files.
    if (bytes > MAX_BYTES) throw tooLarge()
    yield { ...file, bytes: object.bytes, content: contentOf(app, object) }
  }
}

async function* once(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void, undefined> {
  yield* chunks
}

async function* contentOf(
  app: ReposApp,
  { oid, store }: LfsContent,
): AsyncGenerator<Buffer, void, undefined> {
  const opened = await app.objects.of(store).get(lfsKey(oid))
  // Another process has just lost the file.
  if (!opened) throw notFound('PATH_NOT_FOUND', 'path', oid)
  yield* opened.content
}

function tooLarge(): DomainError {
  return new DomainError('LFS_ARCHIVE_TOO_LARGE', { max_bytes: String(MAX_BYTES) })
}
