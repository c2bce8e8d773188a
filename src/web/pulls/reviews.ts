import type { PullReview, PullReviewComment } from '#gen/branchline/v1/review_pb.ts'
import { t } from '../language/texts.tsx'

/** Where a pull request is. */
export interface PullName {
  readonly owner: string
  readonly repo: string
  readonly index: bigint
}

/** The comments on one line, oldest first. */
export interface Thread {
  readonly place: Place
  readonly comments: readonly PullReviewComment[]
}

/** A line of a file, on one side of the changes. The line 0 is the file as a whole. */
export interface Place {
  readonly path: string
  readonly side: 'old' | 'new'
  readonly line: number
}

/** A review with its comments on lines. */
export interface ReviewWithThreads {
  readonly review: PullReview
  readonly threads: readonly Thread[]
}

/** States of reviews in which the reviewer has said nothing yet. */
export const SILENT: readonly string[] = ['PENDING', 'REQUEST_REVIEW']

/** Returns reviews with their comments on lines. */
export function withThreads(
  reviews: readonly PullReview[],
  comments: readonly PullReviewComment[],
): ReviewWithThreads[] {
  return reviews.map((review) => ({
    review,
    threads: threadsOf(comments.filter((comment) => comment.pullRequestReviewId === review.id)),
  }))
}

/** Returns a text that is the same for the same line. */
export function placeKey({ path, side, line }: Place): string {
  return `${side} ${line} ${path}`
}

/** Returns the line of a key. */
export function placeOfKey(key: string): Place {
  const [, side, line, path = ''] = /^(old|new) (\d+) (.*)$/s.exec(key) ?? []
  return { path, side: side === 'old' ? 'old' : 'new', line: Number(line ?? 0) }
}

/** Returns a line in words. */
export function placeText({ path, side, line }: Place): string {
  if (line === 0) return path
  return t(`${side === 'old' ? 'old line' : 'line'} {line} of {path}`, { line: String(line), path })
}

function threadsOf(comments: readonly PullReviewComment[]): Thread[] {
  const threads = new Map<string, { place: Place; comments: PullReviewComment[] }>()
  for (const comment of comments) {
    const place = placeOf(comment)
    // Comments on different commits may have had different lines in mind.
    const key = `${comment.originalCommitId} ${placeKey(place)}`
    const thread = threads.get(key)
    if (thread) thread.comments.push(comment)
    else threads.set(key, { place, comments: [comment] })
  }
  return [...threads.values()]
}

function placeOf({ path, position, originalPosition }: PullReviewComment): Place {
  const side = originalPosition > 0n ? 'old' : 'new'
  return { path, side, line: Number(side === 'old' ? originalPosition : position) }
}
