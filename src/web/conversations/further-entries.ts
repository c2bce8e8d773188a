import type { Conversation } from '#gen/branchline/v1/conversation_service_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { PullReview, PullReviewComment } from '#gen/branchline/v1/review_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import type { Api } from '../api/client.ts'
import type { PullName } from '../pulls/reviews.ts'

type Lists = Pick<Conversation, 'comments' | 'events' | 'reviews' | 'reviewComments'>

/** Returns the lists of a conversation with the entries that its first answer lacks. */
export async function withFurtherEntries(
  api: Api,
  name: PullName,
  first: Conversation,
  signal: AbortSignal,
): Promise<Lists> {
  const { of } = api
  const { limit } = first
  const further = <Item>(
    total: bigint,
    read: (page: number) => Promise<readonly Item[]>,
  ): Promise<Item[]> => readFurther(Math.ceil(Number(total) / limit), read)
  const [comments, events, reviews] = await Promise.all([
    further(first.commentsTotal, async (page) => {
      const request = { ...name, page, limit }
      return (await of(IssueCommentService).listIssueComments(request, { signal })).comments
    }),
    further(first.timelineTotal, async (page) => {
      const request = { ...name, page, limit }
      return (await of(IssueService).listIssueTimeline(request, { signal })).entries
    }),
    further(first.reviewsTotal, async (page) => {
      const request = { ...name, page, limit }
      return (await of(ReviewService).listReviews(request, { signal })).reviews
    }),
  ])
  const allReviews = [...first.reviews, ...reviews]
  return {
    comments: [...first.comments, ...comments],
    events: [...first.events, ...events],
    reviews: allReviews,
    reviewComments: await allComments(api, name, allReviews, first.reviewComments, signal),
  }
}

/** Reads the pages of a list from the second one. */
async function readFurther<Item>(
  pages: number,
  read: (page: number) => Promise<readonly Item[]>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let page = 2; page <= pages; page++) all.push(...(await read(page)))
  return all
}

/** Returns the comments of all reviews, and reads those of the reviews that lack some. */
async function allComments(
  { of }: Api,
  name: PullName,
  reviews: readonly PullReview[],
  known: readonly PullReviewComment[],
  signal: AbortSignal,
): Promise<PullReviewComment[]> {
  const lists = reviews.map(async ({ id, commentsCount }) => {
    const own = known.filter(({ pullRequestReviewId }) => pullRequestReviewId === id)
    if (own.length >= commentsCount) return own
    const { comments } = await of(ReviewService).listReviewComments({ ...name, id }, { signal })
    return comments
  })
  return (await Promise.all(lists)).flat()
}
