import { GitError } from '../core/errors.ts'
import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { measureCommits, measureTrees } from './change-sizes.ts'
import { type CommitStep, type DiffOptions, originsIn, readCommitDiffs } from './diff.ts'
import type { TreeDiff } from './diff-reader.ts'
import { binaryNotice, largeFiles } from './large-files.ts'

/**
 * Content that one text may contain, before and after. Git holds both versions of a binary file in
 * memory, compressed and uncompressed. For more content, clients can fetch the commits.
 */
const MAX_CONTENT_BYTES = 128 * 1024 * 1024

/** Prevents configured programs from running. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color']

/**
 * Streams the difference of two trees as text for users and for git-apply(1).
 *
 * Files of more than `MAX_TEXT_BYTES` count as binary. Added and deleted ones come last, since Git
 * would read them completely.
 *
 * @param from, to ids of trees or commits.
 * @param binary whether to include the content of binary files, which git-apply(1) needs.
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY; TOO_LARGE before the first byte.
 */
export async function* streamDiff(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  { binary }: { readonly binary: boolean },
): AsyncGenerator<Buffer, void, undefined> {
  const sizes = await measureTrees(repositories, id, from, to)
  checkContent(binary ? sizes.bytes : sizes.textBytes)
  const origins = await originsIn(repositories, id, from, to)
  const format = ['diff-tree', '-r', ...origins, ...PLAIN, '--patch']
  if (binary) {
    yield* streamGit(repositories, id, [...format, '--binary', from, to])
    return
  }
  // When all files are text, there are no large files.
  const large = sizes.bytes === sizes.textBytes ? [] : await largeFiles(repositories, id, from, to)
  const others = large.map(({ path }) => `:(top,literal,exclude)${path}`)
  const paths = large.length === 0 ? [] : ['--', ':(top)', ...others]
  yield* streamGit(repositories, id, [...format, from, to, ...paths], { hasPathPatterns: true })
  for (const file of large) yield Buffer.from(binaryNotice(file))
}

/**
 * Streams a range of commits, oldest first, as mails for git-am(1). As in git-format-patch(1),
 * merges are left out and binary files are complete.
 *
 * @param from id of the commit before the range. Undefined: from the first commit.
 * @throws GitError BUSY, TIMEOUT; TOO_LARGE before the first byte.
 */
export async function* streamPatch(
  repositories: Repositories,
  id: number,
  from: string | undefined,
  to: string,
): AsyncGenerator<Buffer, void, undefined> {
  const range = from === undefined ? to : `${from}..${to}`
  checkContent((await measureCommits(repositories, id, range)).bytes)
  const root = from === undefined ? ['--root'] : []
  // Sorted by date, a commit could precede its parent when a clock was wrong.
  const format = ['--stdout', '--no-signature', '--topo-order', ...PLAIN]
  yield* streamGit(repositories, id, ['format-patch', ...format, ...root, range])
}

/** @throws GitError TOO_LARGE */
function checkContent(bytes: number): void {
  if (bytes > MAX_CONTENT_BYTES)
    throw new GitError('TOO_LARGE', `${bytes} bytes are too much for a text`)
}

/** Memory of all cached changes of commits, and of one changed file without its paths. */
const MAX_CACHE_BYTES = 16 * 1024 ** 2
const FILE_BYTES = 400

const diffsIn = (repositories: Repositories) =>
  objectCacheOf<TreeDiff>(repositories, 'commit diffs', MAX_CACHE_BYTES, memoryOf)

function memoryOf({ files }: TreeDiff): number {
  const paths = files.reduce((sum, { path, oldPath = '' }) => sum + path.length + oldPath.length, 0)
  return files.length * FILE_BYTES + paths * 2
}

/**
 * Returns the changes of commits by id. A moved file is a deleted and an added one. The changes of
 * a commit never change and are cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffCommits(
  repositories: Repositories,
  id: number,
  steps: readonly CommitStep[],
  { lines, window }: DiffOptions,
): Promise<ReadonlyMap<string, TreeDiff>> {
  const presence = new ObjectPresence(repositories, id)
  const cache = diffsIn(repositories)
  const variantOf = ({ parentId }: CommitStep) => ` ${parentId} ${lines} ${JSON.stringify(window)}`
  const diffs = new Map<string, TreeDiff>()
  const missing = steps.filter((step) => {
    const known = cache.get(id, step.id, presence, variantOf(step))
    if (known) diffs.set(step.id, known)
    return known === undefined
  })
  if (missing.length === 0) return diffs
  const evidence = missing.map((step) => presence.evidenceOf(step.id))
  const read = await readCommitDiffs(repositories, id, missing, { lines, window })
  for (const [i, step] of missing.entries()) {
    const [diff, before] = [read.get(step.id), evidence[i]]
    if (!diff || !before) continue
    diffs.set(step.id, diff)
    cache.set(id, step.id, diff, { before, presence, variant: variantOf(step) })
  }
  return diffs
}
