import { constants } from 'node:fs'
import { copyFile, link, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { feed } from '../../concurrency/feed.ts'
import { HEADS, type Ref, TAGS } from '../core/ref-names.ts'
import { hasCode } from '../core/system-errors.ts'
import { printedByGit, runGit, spawnGit } from '../processes/child-process.ts'
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
 * Git never writes to a file of objects again, but only removes or replaces it. Changes of one
 * repository therefore do not affect the other: a fork survives the deletion of its parent, a
 * change of its visibility, `git gc`, `git repack`, and a backup of one of them.
 * `objects/info/alternates` would need no links and would share later objects too. But then a
 * parent must not remove an object that any fork needs, and Git does not know the forks.
 */

/** Loose objects and parts of packs. Other files are temporary or can be created again. */
const LOOSE_FOLDER = /^[0-9a-f]{2}$/
const LOOSE_OBJECT = /^[0-9a-f]{38}$/
const PACK_PARTS = [/^pack-[0-9a-f]{40}\.(pack|rev|bitmap)$/, /^pack-[0-9a-f]{40}\.idx$/] as const

/** Concurrent links, which leave threads of libuv to other work. */
const LINKS_AT_ONCE = 16

/** Errors of a file system that cannot link a file: another one, or one with too few links. */
export const UNLINKABLE = ['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK']

/** Refs that users push and fetch. Refs that the server creates are not shared. */
export const SHARED_REFS = [HEADS, TAGS] as const

/**
 * Creates a draft with the objects, branches, tags and default branch of a repository.
 *
 * @returns the path of the draft.
 */
export async function draftFork(repositories: Repositories, parentId: number): Promise<string> {
  const draft = await createDraft(repositories, await readDefaultBranch(repositories, parentId))
  try {
    // Refs come first: all objects that they need exist already, despite concurrent pushes.
    await writeRefs(draft, listRefs(repositories, parentId, SHARED_REFS))
    await shareObjects(repositoryPath(repositories, parentId), draft)
    await packRefs(repositories, draft)
    return draft
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
}

/** Writes refs to the file of packed refs, since Git would write and flush a file for each. */
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
  // The configuration of this process does not apply to upload-pack, which would reject folders of
  // other users.
  "--upload-pack=git -c 'safe.directory=*' upload-pack",
]

/**
 * Copies a commit and the missing objects that it needs from one repository to another. No ref
 * points to the copy.
 *
 * @param commitId full id.
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

/** Enough to read the objects of a million refs. */
const PACK_REFS_TIMEOUT_MS = 10 * 60_000

/** Writes all refs of a draft and their peeled objects to one file and flushes the file. */
export async function packRefs({ processes }: Repositories, draft: string): Promise<void> {
  const { code, stderr } = await runGit(['pack-refs', '--all'], {
    processes,
    repository: draft,
    timeoutMs: PACK_REFS_TIMEOUT_MS,
  })
  if (code !== 0) throw new Error(`git pack-refs failed: ${stderr}`)
}

/**
 * Links all files of objects. Packs come last: a concurrent `git repack` moves loose objects into
 * packs, and objects of packs into new packs.
 */
async function shareObjects(from: string, to: string): Promise<void> {
  for (const folder of await readdir(join(from, 'objects'))) {
    if (LOOSE_FOLDER.test(folder))
      await shareFolder(join(from, 'objects', folder), join(to, 'objects', folder), LOOSE_OBJECT)
  }
  const [source, target] = [join(from, 'objects/pack'), join(to, 'objects/pack')]
  let isComplete = false
  while (!isComplete) {
    isComplete = true
    // Before Git removes a pack, it creates another one with the same objects. Indexes come last,
    // since an index without its pack is worse than the reverse.
    for (const part of PACK_PARTS)
      if (!(await shareFolder(source, target, part))) isComplete = false
  }
}

/** Links files of a folder. Returns whether all files still existed. */
async function shareFolder(source: string, target: string, wanted: RegExp): Promise<boolean> {
  await mkdir(target, { recursive: true })
  const files = (await entriesOf(source)).flatMap(({ name }) => (wanted.test(name) ? name : []))
  let isComplete = true
  for (let i = 0; i < files.length; i += LINKS_AT_ONCE) {
    const some = files.slice(i, i + LINKS_AT_ONCE)
    const shared = await Promise.all(
      some.map((file) => share(join(source, file), join(target, file))),
    )
    if (shared.includes(false)) isComplete = false
  }
  return isComplete
}

/** Links or copies a file. Returns false when the file does not exist. */
async function share(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    // Linked in an earlier round, in which another file was missing.
    if (hasCode(error, 'EEXIST')) return true
    if (!hasCode(error, ...UNLINKABLE)) throw error
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    return true
  }
}

/** Enough for a tree of some gigabytes. */
const TIMEOUT_MS = 10 * 60_000

/**
 * Copies a tree with everything below it to another repository, without any commit. No ref points to
 * the copy.
 *
 * @param treeId full id.
 */
export async function copyTree(
  repositories: Repositories,
  fromId: number,
  treeId: string,
  toId: number,
): Promise<void> {
  const { processes } = repositories
  const options = { processes, timeoutMs: TIMEOUT_MS, priority: 'transfer' as const }
  const pack = printedByGit(
    ['pack-objects', '--revs', '--stdout', '--quiet'],
    { ...options, repository: repositoryPath(repositories, fromId) },
    `${treeId}\n`,
  )
  const indexing = spawnGit(['index-pack', '--stdin'], {
    ...options,
    repository: repositoryPath(repositories, toId),
  })
  indexing.stdout.resume()
  try {
    await feed(pack, indexing.stdin)
    const { code, stderr } = await indexing.exited
    if (code !== 0) throw new Error(`git index-pack failed: ${stderr}`)
  } finally {
    indexing.stop()
  }
}
