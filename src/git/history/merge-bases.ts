import { GitError } from '../core/errors.ts'
import { readCommit } from '../objects/commits.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { cacheOf } from '../repositories/repositories.ts'

/** Cached commits: half a kilobyte each. The key is the id alone, since a commit never changes. */
const MAX_COMMIT_PLACES = 20_000

/** What a commit says of its place in a history. */
export interface CommitPlace {
  readonly parentIds: readonly string[]
  /** When it was committed, in Unix seconds. Anybody can write anything there. */
  readonly time: number
}

/**
 * Commits gone through. Where two branches have grown apart further than that, a process takes
 * less.
 */
const MAX_WALKED = 2_000

/**
 * Commits of them that are read, and not known from the last time: those that are read stay known
 * for the next.
 */
const MAX_READ = 60

/** Leads to the commit: the one, the other, or something that both lead to. */
const ONE = 1
const OTHER = 2
const BOTH = ONE | OTHER
const COVERED = 4

/**
 * The one commit that leads to both of two commits and that all others lead to that do, too,
 * without a process.
 *
 * As Git walks (`paint_down_to_common` in commit-reach.c), from both at once, latest first, until
 * nothing is left but what leads to both anyway. Nothing depends on that order but how soon it
 * ends. Whatever is as good as any other is among what is found: on the way to it from either side
 * is nothing that both lead to, and so nothing that would keep from going on. So one that is found
 * alone is the best.
 *
 * @param one, other ids of commits that are in the repository.
 * @returns null when there is none; undefined when there may be several, or it takes too long: then
 *   it is for Git to say.
 * @throws GitError NOT_FOUND when one of the commits is not there.
 */
export async function soleMergeBase(
  repositories: Repositories,
  id: number,
  one: string,
  other: string,
): Promise<string | null | undefined> {
  const marks = new Map<string, number>()
  const queue: { readonly commitId: string; readonly place: CommitPlace }[] = []
  const found = new Set<string>()
  let reads = 0
  const placeOf = (commitId: string) =>
    cacheOf<CommitPlace>(repositories, 'commit places', MAX_COMMIT_PLACES).get(commitId, () => {
      reads += 1
      return readPlace(repositories, id, commitId)
    })
  const mark = async (commitId: string, more: number) => {
    const marked = marks.get(commitId) ?? 0
    if ((marked & more) === more) return
    marks.set(commitId, marked | more)
    enqueue(queue, { commitId, place: await placeOf(commitId) })
  }
  await mark(one, ONE)
  await mark(other, OTHER)
  for (let walked = 0; queue.some(({ commitId }) => !isCovered(marks, commitId)); walked += 1) {
    const next = queue.pop()
    if (!next || walked >= MAX_WALKED) return undefined
    const marked = marks.get(next.commitId) ?? 0
    if (marked === BOTH) found.add(next.commitId)
    const passedOn = (marked & BOTH) === BOTH ? BOTH | COVERED : marked
    for (const parentId of next.place.parentIds) {
      if (reads >= MAX_READ) return undefined
      await mark(parentId, passedOn)
    }
  }
  const best = [...found].filter((commitId) => !isCovered(marks, commitId))
  return best.length > 1 ? undefined : (best[0] ?? null)
}

function isCovered(marks: ReadonlyMap<string, number>, commitId: string): boolean {
  return ((marks.get(commitId) ?? 0) & COVERED) !== 0
}

/** Keeps the latest commit at the end. */
function enqueue<T extends { readonly place: CommitPlace }>(queue: T[], item: T): void {
  let start = 0
  for (let end = queue.length; start < end; ) {
    const middle = (start + end) >>> 1
    if ((queue[middle]?.place.time ?? 0) < item.place.time) start = middle + 1
    else end = middle
  }
  queue.splice(start, 0, item)
}

async function readPlace(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<CommitPlace> {
  const commit = await readCommit(repositories, id, commitId)
  if (!commit) throw new GitError('NOT_FOUND', `there is no commit ${commitId}`)
  return { parentIds: commit.parentIds, time: commit.committer.time }
}
