import { createContext } from 'preact'
import type { PullReview } from '#gen/branchline/v1/review_pb.ts'
import type { PullName, ReviewWithThreads, Thread } from '../pulls/reviews.ts'

/** Comments on the lines of a diff. */
export interface Discussion {
  readonly name: PullName
  /** The commit that the diff leads to. */
  readonly head: string
  readonly threads: ReadonlyMap<string, readonly Thread[]>
  /** The review that the user has begun. */
  readonly pending: PullReview | undefined
  readonly canComment: boolean
  readonly canResolve: boolean
  /** Whether the user may dismiss reviews. */
  readonly canDismiss: boolean
  /** Whether the user may change and delete comments of others. */
  readonly canModerate: boolean
  /** The beginning of the keys of texts that were not sent. */
  readonly drafts: string
  reload(): void
}

/** The discussion around a diff; undefined for diffs without one. */
export const DiscussionContext = createContext<Discussion | undefined>(undefined)

/** Groups threads by the path of their file. */
export function threadsByPath(reviews: readonly ReviewWithThreads[]): Map<string, Thread[]> {
  const byPath = new Map<string, Thread[]>()
  for (const { threads } of reviews)
    for (const thread of threads) {
      const { path } = thread.place
      byPath.set(path, [...(byPath.get(path) ?? []), thread])
    }
  return byPath
}
