import { createContext } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import type { PullReview } from '#gen/branchline/v1/review_pb.ts'
import { useApi } from '../api/client.ts'
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
  /** Whether the user may apply suggestions to the head branch. */
  readonly canApply: boolean
  /** The comments whose suggestions the user applies together. */
  readonly chosen: ReadonlySet<bigint>
  /** Chooses a suggestion, or no longer. */
  choose(comment: bigint): void
  /** The beginning of the keys of texts that were not sent. */
  readonly drafts: string
  reload(): void
}

/** The discussion around a diff; undefined for diffs without one. */
export const DiscussionContext = createContext<Discussion | undefined>(undefined)

/** Groups threads by the path of their file. */
function threadsByPath(reviews: readonly ReviewWithThreads[]): Map<string, Thread[]> {
  const byPath = new Map<string, Thread[]>()
  for (const { threads } of reviews)
    for (const thread of threads) {
      const { path } = thread.place
      byPath.set(path, [...(byPath.get(path) ?? []), thread])
    }
  return byPath
}

interface Subject {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly head: string
  readonly reviews: readonly ReviewWithThreads[]
  reload(): void
}

/** The discussion of a pull request, with the reviews that it consists of. */
export type PullDiscussion = Discussion & { readonly reviews: readonly ReviewWithThreads[] }

/** Returns the discussion of a pull request, with what the user may do. */
export function useDiscussion(subject: Subject): PullDiscussion {
  const { session } = useApi()
  const { repository, name, pull, head, reviews, reload } = subject
  const { user } = session
  const [chosen, setChosen] = useState<ReadonlySet<bigint>>(new Set())
  return useMemo(() => {
    const { archived, permissions } = repository
    const isWriter = permissions?.push === true && !archived
    const isAuthor = user !== undefined && user.username === pull.user?.login
    return {
      name,
      head,
      reviews,
      threads: threadsByPath(reviews),
      pending: reviews.find(({ review }) => review.state === 'PENDING')?.review,
      canComment: user !== undefined && !archived && (isWriter || !pull.isLocked),
      canResolve: isWriter || (isAuthor && !archived),
      canDismiss: permissions?.admin === true && !archived && pull.state === 'open',
      canModerate: isWriter,
      canApply: user !== undefined && pull.state === 'open' && mayPush(pull, isWriter),
      chosen,
      choose: (comment: bigint) =>
        setChosen((before) => {
          const after = new Set(before)
          if (!after.delete(comment)) after.add(comment)
          return after
        }),
      drafts: `draft ${user?.username} ${name.owner}/${name.repo}/${name.index} `,
      reload,
    }
  }, [reviews, repository, head, user, pull, chosen, reload])
}

/** Returns whether the user may push to the head branch, as the page knows. The server decides. */
function mayPush({ head, allowMaintainerEdit }: PullRequest, isWriter: boolean): boolean {
  return head?.repo?.permissions?.push === true || (allowMaintainerEdit && isWriter)
}
