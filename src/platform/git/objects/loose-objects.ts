import { createHash } from 'node:crypto'
import { mkdir, open, rename, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { GitError } from '../core/errors.ts'
import type { ObjectType } from '../core/object-ids.ts'
import { hasCode } from '../core/system-errors.ts'
import { entriesOf } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** Returns the stored form of an object, a header and the content, with its id. */
function encodeObject(
  type: ObjectType,
  content: Buffer,
): { readonly id: string; readonly bytes: Buffer } {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  return { id: createHash('sha1').update(bytes).digest('hex'), bytes }
}

/** Returns the id of an object, which need not be stored. */
export function objectId(type: ObjectType, content: Buffer): string {
  return encodeObject(type, content).id
}

/**
 * Stores an object in a temporary folder of objects. The object is not flushed and may be lost in a
 * crash.
 *
 * @returns the id of the object.
 */
export async function storeLooseObject(
  folder: string,
  type: ObjectType,
  content: Buffer,
): Promise<string> {
  const { id, bytes } = encodeObject(type, content)
  const subfolder = join(folder, id.slice(0, 2))
  await mkdir(subfolder, { recursive: true })
  await writeFile(join(subfolder, id.slice(2)), deflateSync(bytes, { level: 1 }))
  return id
}

/** Names of folders of loose objects: the first byte of the object ids. */
const SUBFOLDER = /^[0-9a-f]{2}$/

/** Concurrent flushes take little more time than one, since the file system combines them. */
const FLUSHES_AT_ONCE = 16

/**
 * Moves the loose objects of a folder into a repository, which may have some of them already.
 *
 * As in Git, each object is flushed before the rename. The later update of a ref flushes the
 * journal and thereby the new names.
 *
 * @throws GitError NO_REPOSITORY
 */
export async function takeObjects(
  repositories: Repositories,
  id: number,
  folder: string,
): Promise<void> {
  const target = join(repositoryPath(repositories, id), 'objects')
  const subfolders = (await entriesOf(folder)).flatMap(({ name }) =>
    SUBFOLDER.test(name) ? name : [],
  )
  const movesOf = async (name: string) => {
    const [files] = await Promise.all([
      entriesOf(join(folder, name)),
      makeSubfolder(join(target, name)),
    ])
    return files.map(
      (file) => [join(folder, name, file.name), join(target, name, file.name)] as const,
    )
  }
  const moves = (await Promise.all(subfolders.map(movesOf))).flat()
  for (let i = 0; i < moves.length; i += FLUSHES_AT_ONCE) {
    await Promise.all(
      moves.slice(i, i + FLUSHES_AT_ONCE).map(([from, to]) => moveFlushed(from, to)),
    )
  }
  // Git creates these folders again when it needs them, and reads fewer folders until then.
  await Promise.all(
    [...new Set(moves.map(([from]) => dirname(from)))].map((subfolder) => rmdir(subfolder)),
  )
}

/** Creates a folder but not its parents, since a deleted repository must not reappear. */
async function makeSubfolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      throw new GitError('NO_REPOSITORY', `there is no ${path}`, { cause: error })
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/**
 * Attempts to move an object. `git prune-packed`, a part of maintenance, removes empty folders, also
 * one that was created just now.
 */
const MAX_MOVES = 5

async function moveFlushed(from: string, to: string): Promise<void> {
  const file = await open(from)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || attempt === MAX_MOVES) throw error
      await makeSubfolder(dirname(to))
    }
  }
}
