import { constants } from 'node:fs'
import { copyFile, link, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HEADS, type Ref, TAGS } from '../core/ref-names.ts'
import { hasCode } from '../core/system-errors.ts'
import { runGit } from '../processes/child-process.ts'
import { listRefs, readDefaultBranch } from '../refs/refs.ts'
import { entriesOf } from '../repositories/folders.ts'
import { transferByGit } from '../repositories/reading.ts'
import {
  createDraft,
  discardDraft,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'

/**
 * Forks share objects by hard links, as `git clone --local` does.
 *
 * Files of objects are never written to again, only removed or replaced by others, so what one
 * repository does with its names of them is nothing to the other: a fork outlives the deletion of
 * its parent, its going private, every `git gc` and `git repack`, and a backup of either alone.
 * Borrowing by `objects/info/alternates` would need none of the links and would share what comes
 * later too; but then nothing in a parent may be removed that a fork, or a fork of a fork, still
 * needs, and no git knows of them.
 */

/**
 * A loose object, and the parts of a pack. Everything else can be made from them, or is somebody's
 * temporary file.
 */
const LOOSE_FOLDER = /^[0-9a-f]{2}$/
const LOOSE_OBJECT = /^[0-9a-f]{38}$/
const PACK_PARTS = [/^pack-[0-9a-f]{40}\.(pack|rev|bitmap)$/, /^pack-[0-9a-f]{40}\.idx$/] as const

/** Links under way at once: libuv has four threads, which others want too. */
const LINKS_AT_ONCE = 16

/**
 * No link can be made: another file system, one without links, or one that has no room for another
 * link to this file.
 */
const UNLINKABLE = ['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK']

/**
 * What people push and fetch: refs that the server made belong to the repository that it made them
 * for.
 */
export const SHARED_REFS = [HEADS, TAGS] as const

/**
 * Makes a draft with the objects, branches, tags and default branch that a repository has now.
 *
 * @returns its path.
 */
export async function draftFork(repositories: Repositories, parentId: number): Promise<string> {
  const draft = await createDraft(repositories, await readDefaultBranch(repositories, parentId))
  try {
    // The refs first: the objects that they need are all there by now, however many pushes go on
    // meanwhile.
    await writeRefs(draft, listRefs(repositories, parentId, SHARED_REFS))
    await shareObjects(repositoryPath(repositories, parentId), draft)
    await packRefs(repositories, draft)
    return draft
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
}

/**
 * Gives a draft refs, by the file that Git reads them from; a ref each would be a file and a flush
 * each.
 */
export async function writeRefs(draft: string, refs: AsyncIterable<Ref>): Promise<void> {
  const lines: string[] = []
  for await (const { id, name } of refs) lines.push(`${id} ${name}\n`)
  await writeFile(join(draft, 'packed-refs'), lines.join(''))
}

const FETCH_FLAGS = [
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  // Our configuration does not reach the other side, which would take only the folder of its own
  // user for safe.
  "--upload-pack=git -c 'safe.directory=*' upload-pack",
]

/**
 * Brings a commit from one repository to another, with all that it leads to and that is missing
 * there. No ref leads to it.
 *
 * @param commitId in full.
 * @throws GitError BUSY, TIMEOUT
 */
export async function fetchCommit(
  repositories: Repositories,
  id: number,
  fromId: number,
  commitId: string,
): Promise<void> {
  await transferByGit(repositories, id, [
    'fetch',
    ...FETCH_FLAGS,
    repositoryPath(repositories, fromId),
    commitId,
  ])
}

/** For a million refs, each of whose objects is looked at. */
const PACK_REFS_TIMEOUT_MS = 10 * 60_000

/** Puts all refs of a draft into one file, with what they point to in the end, and flushes it. */
export async function packRefs({ processes }: Repositories, draft: string): Promise<void> {
  const { code, stderr } = await runGit(['pack-refs', '--all'], {
    processes,
    repository: draft,
    timeoutMs: PACK_REFS_TIMEOUT_MS,
  })
  if (code !== 0) throw new Error(`git pack-refs failed: ${stderr}`)
}

/**
 * Packs last: where a `git repack` is at work, it moves loose objects into packs, and those of
 * packs into others.
 */
async function shareObjects(from: string, to: string): Promise<void> {
  for (const folder of await readdir(join(from, 'objects'))) {
    if (LOOSE_FOLDER.test(folder))
      await shareFolder(join(from, 'objects', folder), join(to, 'objects', folder), LOOSE_OBJECT)
  }
  const [source, target] = [join(from, 'objects/pack'), join(to, 'objects/pack')]
  let isWhole = false
  while (!isWhole) {
    isWhole = true
    // What was in a pack that has gone is in one that was made before. An index without its pack is
    // worse than the opposite.
    for (const part of PACK_PARTS) if (!(await shareFolder(source, target, part))) isWhole = false
  }
}

/** @returns whether all files were there still. */
async function shareFolder(source: string, target: string, wanted: RegExp): Promise<boolean> {
  await mkdir(target, { recursive: true })
  const files = (await entriesOf(source)).flatMap(({ name }) => (wanted.test(name) ? name : []))
  let isWhole = true
  for (let i = 0; i < files.length; i += LINKS_AT_ONCE) {
    const some = files.slice(i, i + LINKS_AT_ONCE)
    const shared = await Promise.all(
      some.map((file) => share(join(source, file), join(target, file))),
    )
    if (shared.includes(false)) isWhole = false
  }
  return isWhole
}

/** @returns false when the file is gone. */
async function share(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    // From the time before, when another file was gone.
    if (hasCode(error, 'EEXIST')) return true
    if (!hasCode(error, ...UNLINKABLE)) throw error
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    return true
  }
}
