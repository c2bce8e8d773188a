import { GitError } from '../core/errors.ts'
import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { measureCommits, measureTrees } from './change-sizes.ts'
import { type CommitStep, type DiffOptions, originsIn, readCommitDiffs } from './diff.ts'
import type { TreeDiff } from './diff-reader.ts'
import { binaryNotice, largeFiles } from './large-files.ts'
import { readSmallOutput } from './small-output.ts'

/**
 * Content that one text may contain, before and after. Git holds both versions of a binary file in
 * memory, compressed and uncompressed. For more content, clients can fetch the commits.
 */
const MAX_CONTENT_BYTES = 128 * 1024 * 1024

/** Prevents configured programs from running. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color']

/** Memory of all cached texts, and of the largest cached text. */
const MAX_TEXTS_BYTES = 16 * 1024 ** 2
const MAX_CACHED_TEXT_BYTES = 64 * 1024

/**
 * Streams the difference of two trees as text for users and for git-apply(1). A small text is
 * cached as long as `to` is stored.
 *
 * Files of more than `MAX_TEXT_BYTES` count as binary. Added and deleted ones come last, since Git
 * would read them completely.
 *
 * @param from id of the empty tree, or of a commit that `to` descends from.
 * @param to id of a commit.
 * @param binary whether to include the content of binary files, which git-apply(1) needs.
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY; TOO_LARGE before the first byte.
 */
export function streamDiff(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  { binary }: { readonly binary: boolean },
): AsyncGenerator<Buffer, void, undefined> {
  return cachedText(repositories, id, { to, variant: ` diff ${from} ${binary}` }, () =>
    writeDiff(repositories, id, from, to, binary),
  )
}

async function* writeDiff(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
  binary: boolean,
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
 * merges are left out and binary files are complete. A small text is cached as long as `to` is
 * stored.
 *
 * @param from id of the commit before the range, an ancestor of `to`. Undefined: from the first
 *   commit.
 * @throws GitError BUSY, TIMEOUT; TOO_LARGE before the first byte.
 */
export function streamPatch(
  repositories: Repositories,
  id: number,
  from: string | undefined,
  to: string,
): AsyncGenerator<Buffer, void, undefined> {
  return cachedText(repositories, id, { to, variant: ` patch ${from}` }, () =>
    writePatch(repositories, id, from, to),
  )
}

async function* writePatch(
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

/** Returns a small text as one chunk and caches it. A large text passes as Git writes it. */
async function* cachedText(
  repositories: Repositories,
  id: number,
  { to, variant }: { readonly to: string; readonly variant: string },
  write: () => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const cache = objectCacheOf<Buffer>(
    repositories,
    'texts of changes',
    MAX_TEXTS_BYTES,
    ({ length }) => length,
  )
  const presence = new ObjectPresence(repositories, id)
  const known = cache.get(id, to, presence, variant)
  if (known) {
    if (known.length > 0) yield known
    return
  }
  const before = presence.evidenceOf(to)
  const { whole, chunks } = await readSmallOutput(write(), MAX_CACHED_TEXT_BYTES)
  if (whole === undefined) {
    yield* chunks
    return
  }
  cache.set(id, to, whole, { before, presence, variant })
  if (whole.length > 0) yield whole
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
