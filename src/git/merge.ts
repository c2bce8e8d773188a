import { GitError } from './errors.ts'
import { isObjectId } from './objects.ts'
import { type ReadOptions, readGit, splitAtZeros, textOf } from './reading.ts'
import type { Repositories } from './repositories.ts'

/**
 * Those of some commits that no other of them leads to: of two, the one that has all of the other, or both when each has something of
 * its own.
 *
 * Not by git-rev-list(1), which stops too early where commits are dated before those that they follow.
 *
 * @param ids in full.
 * @param options where else the commits may be, and how long to look.
 * @throws GitError NOT_FOUND when one of them is no commit; BUSY, TIMEOUT
 */
export async function independentCommits(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  options: Omit<ReadOptions, 'input'> = {},
): Promise<ReadonlySet<string>> {
  try {
    const text = await textOf(readGit(repositories, id, ['merge-base', '--independent', ...ids], options))
    return new Set(text.split('\n').filter(isObjectId))
  } catch (error) {
    // builtin/merge-base.c of Git 2.39; `LC_ALL` is C.
    const isNoCommit = error instanceof Error && error.message.includes('Not a valid commit name')
    throw isNoCommit ? new GitError('NOT_FOUND', error.message) : error
  }
}

/** What becomes of two commits when Git merges them. */
export type Merge =
  /** The tree with what both have changed. It is stored; no commit is made of it. */
  | { readonly outcome: 'clean'; readonly treeId: string }
  /** The files in which they do not go together, and what Git says about that, a line for each thing. */
  | { readonly outcome: 'conflict'; readonly paths: readonly string[]; readonly text: string }
  /** No commit leads to both. */
  | { readonly outcome: 'unrelated' }

/** Read of the answer, which has a few records for each file in conflict. */
const MAX_RECORDS = 2_000

/** Kept of a record: as long as paths are that can be checked out (PATH_MAX). */
const MAX_RECORD_BYTES = 4096

/** What Git says about files that do go together. */
const NO_CONFLICT = 'Auto-merging'

/**
 * Merges two commits as `git merge` does, without a work tree: renames are followed, and of several merge bases one is made
 * (git-merge-tree(1), `--write-tree`).
 *
 * Costs as much as there are changes, however large the trees. What is new in the tree is stored in the repository, for files in conflict
 * too.
 *
 * @param ours, theirs ids of commits in full.
 * @throws GitError BUSY, TIMEOUT
 */
export async function mergeCommits(
  repositories: Repositories,
  id: number,
  ours: string,
  theirs: string,
): Promise<Merge> {
  if (!isObjectId(ours) || !isObjectId(theirs)) throw new Error(`no ids of commits: ${ours}, ${theirs}`)
  // Asked for on stdin, a conflict is an answer and no failure.
  const args = ['merge-tree', '--write-tree', '--stdin', '--name-only']
  const records: string[] = []
  try {
    const output = readGit(repositories, id, args, { input: `${ours} ${theirs}\n` })
    for await (const record of splitAtZeros(output, MAX_RECORD_BYTES)) {
      records.push(record.toString())
      if (records.length === MAX_RECORDS) break
    }
  } catch (error) {
    // Git says so by dying (builtin/merge-tree.c of Git 2.39; `LC_ALL` is C).
    if (error instanceof Error && error.message.includes('unrelated histories')) return { outcome: 'unrelated' }
    throw error
  }
  return parseMerge(records)
}

/** Reads the answer (git-merge-tree(1), "OUTPUT" with `-z`): the verdict, the tree, paths, an empty record, messages. */
function parseMerge([verdict, treeId = '', ...rest]: readonly string[]): Merge {
  if (verdict === '1' && isObjectId(treeId)) return { outcome: 'clean', treeId }
  if (verdict !== '0') throw new Error(`git merge-tree printed ${JSON.stringify(verdict)} for a verdict`)
  const end = rest.indexOf('')
  const paths = end < 0 ? rest : rest.slice(0, end)
  return { outcome: 'conflict', paths, text: messagesOf(rest.slice(paths.length + 1)).join('') }
}

/** Each message is a number of paths, those paths, a kind and a text. */
function messagesOf(records: readonly string[]): string[] {
  const messages: string[] = []
  for (let i = 0; i < records.length; ) {
    const paths = Number.parseInt(records[i] ?? '', 10)
    // What ends the list is empty.
    if (Number.isNaN(paths)) break
    const [kind, text = ''] = records.slice(i + 1 + paths)
    if (kind !== NO_CONFLICT) messages.push(text)
    i += paths + 3
  }
  return messages
}
