import type { Repositories } from '../repositories/repositories.ts'
import { type CommitNode, CommitNodes } from './commit-nodes.ts'

/** Commits that a walk visits, and those that it reads. A Git process costs as much as the reads. */
const MAX_WALKED = 2_000
const MAX_READ = 50

/** A commit that a walk has met. */
interface Met {
  readonly commitId: string
  readonly node: CommitNode
  isExcluded: boolean
}

/**
 * Returns the ids of all commits that are reachable from one of several commits and not from another
 * one, in the order of git-rev-list(1), without a Git process.
 *
 * The walk takes the latest commit first, and of several the one that was met first (`limit_list`
 * in revision.c of Git).
 *
 * @param from, without ids of commits in the repository.
 * @returns undefined for a long history, and for one in which a commit is earlier than its parent.
 *   The caller must then ask Git.
 * @throws GitError NOT_FOUND when a commit does not exist.
 */
export async function nearHistory(
  repositories: Repositories,
  id: number,
  from: readonly string[],
  without: string | undefined,
): Promise<readonly string[] | undefined> {
  const nodes = new CommitNodes(repositories, id)
  const met = new Map<string, Met>()
  const queue: Met[] = []
  const visited: Met[] = []
  const meet = async (commitId: string, isExcluded: boolean) => {
    const known = met.get(commitId)
    if (known) {
      if (isExcluded) exclude(met, known)
      return known
    }
    const commit = { commitId, node: await nodes.read(commitId), isExcluded }
    met.set(commitId, commit)
    enqueue(queue, commit)
    return commit
  }
  for (const commitId of from) await meet(commitId, false)
  if (without !== undefined) await meet(without, true)
  while (mayChange(queue, visited.at(-1))) {
    const commit = queue.shift()
    if (!commit || nodes.reads > MAX_READ || met.size > MAX_WALKED) return undefined
    visited.push(commit)
    for (const parentId of commit.node.parentIds) {
      const parent = await meet(parentId, commit.isExcluded)
      if (parent.node.time > commit.node.time) return undefined
    }
  }
  return visited.flatMap(({ commitId, isExcluded }) => (isExcluded ? [] : commitId))
}

/** Excludes a commit and its ancestors, as far as they have been met. */
function exclude(met: ReadonlyMap<string, Met>, first: Met): void {
  const excluded = [first]
  for (let commit = excluded.pop(); commit; commit = excluded.pop()) {
    if (commit.isExcluded) continue
    commit.isExcluded = true
    for (const parentId of commit.node.parentIds) {
      const parent = met.get(parentId)
      if (parent) excluded.push(parent)
    }
  }
}

/**
 * Returns whether the commits in the queue can still change the result: by commits that are not
 * excluded, or by excluded ones that can have a visited commit among their ancestors.
 */
function mayChange(queue: readonly Met[], last: Met | undefined): boolean {
  if (queue.some(({ isExcluded }) => !isExcluded)) return true
  return last !== undefined && (queue[0]?.node.time ?? -Infinity) >= last.node.time
}

/** Inserts a commit behind those of the same time. */
function enqueue(queue: Met[], commit: Met): void {
  let start = 0
  for (let end = queue.length; start < end; ) {
    const middle = (start + end) >>> 1
    if ((queue[middle]?.node.time ?? 0) >= commit.node.time) start = middle + 1
    else end = middle
  }
  queue.splice(start, 0, commit)
}
