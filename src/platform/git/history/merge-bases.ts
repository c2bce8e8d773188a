import type { Repositories } from '../repositories/repositories.ts'
import { type CommitNode, CommitNodes } from './commit-nodes.ts'

/** Visited commits. For branches that differ by more commits, a Git process is faster. */
const MAX_WALKED = 2_000

/** Visited commits that are read because they are not in the cache. */
const MAX_READ = 60

/** Marks of a commit: reachable from the one, from the other, from a common ancestor. */
const ONE = 1
const OTHER = 2
const BOTH = ONE | OTHER
const COVERED = 4

/**
 * Returns the only best common ancestor of two commits, without a Git process.
 *
 * The walk is that of Git (`paint_down_to_common` in commit-reach.c): from both commits at once,
 * latest first, until only ancestors of common ancestors are left. The order affects only the
 * length of the walk. Every best common ancestor is found, because no other common ancestor is on
 * the way to it and stops the walk. If exactly one is found, it is therefore the best.
 *
 * @param one, other ids of commits in the repository.
 * @returns null when there is none; undefined when there may be several or the walk takes too long.
 *   The caller must then ask Git.
 * @throws GitError NOT_FOUND when one of the commits does not exist.
 */
export async function soleMergeBase(
  repositories: Repositories,
  id: number,
  one: string,
  other: string,
): Promise<string | null | undefined> {
  const marks = new Map<string, number>()
  const queue: { readonly commitId: string; readonly node: CommitNode }[] = []
  const found = new Set<string>()
  const nodes = new CommitNodes(repositories, id)
  /** Returns false when the walk takes too long. */
  const mark = async (commitId: string, more: number) => {
    const marked = marks.get(commitId) ?? 0
    if ((marked & more) === more) return true
    if (nodes.reads >= MAX_READ || marks.size > MAX_WALKED) return false
    marks.set(commitId, marked | more)
    const node = await nodes.read(commitId)
    if (node) enqueue(queue, { commitId, node })
    return node !== undefined
  }
  if (!(await mark(one, ONE)) || !(await mark(other, OTHER))) return undefined
  for (let walked = 0; queue.some(({ commitId }) => !isCovered(marks, commitId)); walked += 1) {
    const next = queue.pop()
    if (!next || walked >= MAX_WALKED) return undefined
    const marked = marks.get(next.commitId) ?? 0
    if (marked === BOTH) found.add(next.commitId)
    const passedOn = (marked & BOTH) === BOTH ? BOTH | COVERED : marked
    for (const parentId of next.node.parentIds)
      if (!(await mark(parentId, passedOn))) return undefined
  }
  const best = [...found].filter((commitId) => !isCovered(marks, commitId))
  return best.length > 1 ? undefined : (best[0] ?? null)
}

function isCovered(marks: ReadonlyMap<string, number>, commitId: string): boolean {
  return ((marks.get(commitId) ?? 0) & COVERED) !== 0
}

/** Inserts an item so that the latest commit is last. */
function enqueue<T extends { readonly node: CommitNode }>(queue: T[], item: T): void {
  let start = 0
  for (let end = queue.length; start < end; ) {
    const middle = (start + end) >>> 1
    if ((queue[middle]?.node.time ?? 0n) < item.node.time) start = middle + 1
    else end = middle
  }
  queue.splice(start, 0, item)
}
