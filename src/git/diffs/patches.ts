import { GitError } from '../core/errors.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { measureCommits, measureTrees } from './change-sizes.ts'
import { originsIn } from './diff.ts'
import { binaryNotice, largeFiles } from './large-files.ts'

/**
 * Content, before and after, that goes into one text: git holds a binary file as a whole, both
 * sides of it, packed and not packed. Who needs more has git fetch the commits.
 */
const MAX_CONTENT_BYTES = 128 * 1024 * 1024

/** Nothing that anybody has configured is run. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color']

/**
 * How two trees differ, as text for people and for git-apply(1), as fast as it is taken.
 *
 * @param from, to ids of trees or commits. A file of more than `MAX_TEXT_BYTES` counts as binary.
 *   One that is new or gone is told of behind all others: Git would read it as a whole to say so.
 *
 * @param binary whether to include the content of binary files, which git-apply(1) needs.
 * @throws GitError BUSY, TIMEOUT, OUT_OF_MEMORY, TOO_LARGE; the last of them before the first byte.
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
  // Where all is text there is nothing to look for.
  const large = sizes.bytes === sizes.textBytes ? [] : await largeFiles(repositories, id, from, to)
  const others = large.map(({ path }) => `:(top,literal,exclude)${path}`)
  const paths = large.length === 0 ? [] : ['--', ':(top)', ...others]
  yield* streamGit(repositories, id, [...format, from, to, ...paths], { hasPathPatterns: true })
  for (const file of large) yield Buffer.from(binaryNotice(file))
}

/**
 * The commits behind one commit up to another one, oldest first, as mails for git-am(1), as fast as
 * they are taken. Merges are left out, and binary files are whole, as git-format-patch(1) has it.
 *
 * @param from id of a commit; undefined for all from the first.
 * @throws GitError BUSY, TIMEOUT, TOO_LARGE; the last of them before the first byte.
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
  // By date alone a commit may come before the one that it builds upon, where clocks were wrong.
  const format = ['--stdout', '--no-signature', '--topo-order', ...PLAIN]
  yield* streamGit(repositories, id, ['format-patch', ...format, ...root, range])
}

/** @throws GitError TOO_LARGE */
function checkContent(bytes: number): void {
  if (bytes > MAX_CONTENT_BYTES)
    throw new GitError('TOO_LARGE', `${bytes} bytes are too much for a text`)
}
