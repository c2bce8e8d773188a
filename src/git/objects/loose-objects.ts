import { createHash } from 'node:crypto'
import { mkdir, open, rename, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { GitError } from '../core/errors.ts'
import type { ObjectType } from '../core/object-ids.ts'
import { hasCode } from '../core/system-errors.ts'
import { entriesOf } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** An object as Git stores and names it: its content behind a header. */
function encodeObject(
  type: ObjectType,
  content: Buffer,
): { readonly id: string; readonly bytes: Buffer } {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  return { id: createHash('sha1').update(bytes).digest('hex'), bytes }
}

/** The id that an object has, stored or not. */
export function objectId(type: ObjectType, content: Buffer): string {
  return encodeObject(type, content).id
}

/**
 * Stores an object in a folder of objects that Git looks into for the time of a question. It is not
 * flushed: that is for what a crash may take.
 *
 * @returns its id.
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

/** Names of folders of loose objects, each the first byte of theirs. */
const SUBFOLDER = /^[0-9a-f]{2}$/

/** Files of many are flushed in the time of few: the file system does it for all that wait. */
const FLUSHES_AT_ONCE = 16

/**
 * Takes the loose objects of a folder into a repository. Those that it has already are no error.
 *
 * As when Git stores them, each is flushed before it gets its name, and its name is safe by the
 * time that a ref leads there, for which the journal is flushed.
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
  // Git makes them again when it needs them; until then nobody need look into them.
  await Promise.all(
    [...new Set(moves.map(([from]) => dirname(from)))].map((subfolder) => rmdir(subfolder)),
  )
}

/** Not with the folders above it: those of a repository that is gone must not come back. */
async function makeSubfolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      throw new GitError('NO_REPOSITORY', `there is no ${path}`, { cause: error })
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

async function moveFlushed(from: string, to: string): Promise<void> {
  const file = await open(from)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(from, to)
}
