import type { Repositories } from '../repositories/repositories.ts'
import { type CommitNode, CommitNodes } from './merge-bases.ts'

/** Commits that a walk visits, and those that it reads. A Git process costs as much as the reads. */
const MAX_WALKED = 2_000
const MAX_READ = 50

/**
 * Commits that a walk visits after all queued ones are excluded. A clock that was wrong can hide a
 * commit behind a few others (`SLOP` in revision.c of Git).
 */
const MAX_SLOP = 5

/** A commit that a walk has met. */
interface Met {
  readonly commitId: string
  readonly node: CommitNode
}

/**
 * Returns the ids of all commits that are reachable from one of several commits and not from any of
 * others, as git-rev-list(1) lists them, without a Git process.
 *
 * The walk is that of Git (`limit_list` in revision.c), so that both agree where clocks were wrong: it
 * takes the latest commit first, and of several the one that was met first.
 *
 * @param from, without ids of commits in the repository.
 * @returns undefined for a long history. The caller must then ask Git.
 * @throws GitError NOT_FOUND when a commit does not exist.
 */
export async function nearHistory(
  repositories: Repositories,
  id: number,
  from: readonly string[],
  without: readonly string[],
): Promise<readonly string[] | undefined> {
  const nodes = new CommitNodes(repositories, id)
  const met = new Map<string, CommitNode>()
  const excluded = new Set<string>()
  const queue: Met[] = []
  /** Returns false when the walk takes too long. */
  const meet = async (commitId: string) => {
    if (met.has(commitId)) return true
    if (nodes.reads > MAX_READ || met.size > MAX_WALKED) return false
    const node = await nodes.read(commitId)
    if (!node) return false
    met.set(commitId, node)
    enqueue(queue, { commitId, node })
    return true
  }
  for (const commitId of from) if (!(await meet(commitId))) return undefined
  for (const commitId of without) {
    if (!(await meet(commitId))) return undefined
    excluded.add(commitId)
    excludeParents(met, excluded, commitId)
  }
  const listed: Met[] = []
  for (let slop = MAX_SLOP; slop > 0; ) {
    const commit = queue.shift()
    if (!commit) break
    const isExcluded = excluded.has(commit.commitId)
    for (const parentId of commit.node.parentIds) {
      if (!(await meet(parentId))) return undefined
      if (!isExcluded) continue
      excluded.add(parentId)
      excludeParents(met, excluded, parentId)
    }
    if (!isExcluded) listed.push(commit)
    else if (mayChange(queue, excluded, listed.at(-1))) slop = MAX_SLOP
    else slop -= 1
  }
  return listed.flatMap(({ commitId }) => (excluded.has(commitId) ? [] : commitId))
}

/**
 * Excludes the parents of a commit, and the ancestors of those that have been met
 * (`mark_parents_uninteresting` in revision.c of Git).
 */
function excludeParents(
  met: ReadonlyMap<string, CommitNode>,
  excluded: Set<string>,
  commitId: string,
): void {
  const pending = [...(met.get(commitId)?.parentIds ?? [])]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (excluded.has(next)) continue
    excluded.add(next)
    pending.push(...(met.get(next)?.parentIds ?? []))
  }
}

/**
 * Returns whether the commits in the queue are likely to change the result: by commits that are not
 * excluded, or by excluded ones that can have a listed commit among their ancestors
 * (`still_interesting` in revision.c of Git).
 */
function mayChange(
  queue: readonly Met[],
  excluded: ReadonlySet<string>,
  last: Met | undefined,
): boolean {
  const [first] = queue
  if (first && last && first.node.time >= last.node.time) return true
  return queue.some(({ commitId }) => !excluded.has(commitId))
}

/** Inserts a commit behind those of the same time. */
function enqueue(queue: Met[], commit: Met): void {
  let start = 0
  for (let end = queue.length; start < end; ) {
    const middle = (start + end) >>> 1
    if ((queue[middle]?.node.time ?? 0n) >= commit.node.time) start = middle + 1
    else end = middle
  }
  queue.splice(start, 0, commit)
}
