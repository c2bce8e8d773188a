import { useMemo } from 'preact/hooks'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { type Loaded, useLoad } from '../components/load.tsx'
import { type PullName, type ReviewWithThreads, readReviews } from '../pulls/reviews.ts'
import { type Discussion, threadsByPath } from './discussion.ts'

interface Subject {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly head: string
  readonly version: number
}

/** The discussion of a pull request, with the reviews that it consists of. */
export type PullDiscussion = Discussion & { readonly reviews: readonly ReviewWithThreads[] }

/** Loads the reviews of a pull request, and finds out what the user may do. */
export function useDiscussion(subject: Subject): Loaded<PullDiscussion> {
  const api = useApi()
  const { repository, name, pull, head, version } = subject
  const { user } = api.session
  const loaded = useLoad((signal) => readReviews(api, name, signal), [version])
  const { value: reviews, reload } = loaded
  const value = useMemo(() => {
    if (!reviews) return undefined
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
      drafts: `draft ${user?.username} ${name.owner}/${name.repo}/${name.index} `,
      reload,
    }
  }, [reviews, repository, head, user, pull, reload])
  return { ...loaded, value }
}
