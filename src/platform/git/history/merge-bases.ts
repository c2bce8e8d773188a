import { GitError } from '../core/errors.ts'
import { readObject } from '../objects/objects.ts'
import { orderOf, parseCommit, parseWork } from '../objects/raw-objects.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { type RepositoryResults, resultsOf } from '../repositories/repository-results.ts'

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

/** A commit in the graph of a history. */
export interface CommitNode {
  readonly parentIds: readonly string[]
  /** Result of `orderOf`. Clients can write any time. */
  readonly time: bigint
}

/** Memory of all cached commits, and of one parent. */
const MAX_NODES_BYTES = 16 * 1024 ** 2
const PARENT_BYTES = 64

/** Headers with thousands of parents. Git reads longer ones. */
const MAX_HEADER_BYTES = 256 * 1024

/** The commits of a repository, for one walk through its history. */
export class CommitNodes {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #known: RepositoryResults<CommitNode | undefined>
  /** Commits that were not known yet. */
  reads = 0

  constructor(repositories: Repositories, id: number) {
    this.#repositories = repositories
    this.#id = id
    this.#known = resultsOf<CommitNode | undefined>(
      repositories,
      'commit nodes',
      MAX_NODES_BYTES,
      (node) => (node?.parentIds.length ?? 0) * PARENT_BYTES,
    )
  }

  /**
   * Returns a commit. Undefined when its headers are too long.
   *
   * @throws GitError NOT_FOUND when there is no such commit.
   */
  read(commitId: string): Promise<CommitNode | undefined> {
    return this.#known.get(this.#id, commitId, async () => {
      this.reads += 1
      const object = await readObject(this.#repositories, this.#id, commitId, MAX_HEADER_BYTES)
      if (object?.type !== 'commit')
        throw new GitError('NOT_FOUND', `there is no commit ${commitId}`)
      const { bytes, content } = object
      if (bytes > content.length && !content.includes('\n\n')) return undefined
      const budget = this.#repositories.readTurns.budget()
      return budget.run(() => {
        budget.note(parseWork(content))
        return { parentIds: parseCommit(commitId, content).parentIds, time: orderOf(content) }
      })
    })
  }
}
