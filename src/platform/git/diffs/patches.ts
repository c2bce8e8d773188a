import { GitError } from '../core/errors.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { measureCommits, measureTrees } from './change-sizes.ts'
import { originsIn } from './diff.ts'
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
