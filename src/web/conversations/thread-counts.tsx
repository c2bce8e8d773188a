import type { VNode } from 'preact'
import { plural } from '../language/texts.tsx'
import type { Discussion } from './discussion.ts'

/** How many threads of a pull request are resolved. */
export function ThreadCounts({ discussion }: { discussion: Discussion }): VNode | null {
  const { threads, pending } = discussion
  const firsts = [...threads.values()]
    .flat()
    .flatMap(({ comments: [first] }) => first ?? [])
    .filter(({ pullRequestReviewId }) => pullRequestReviewId !== pending?.id)
  if (firsts.length === 0) return null
  const resolved = firsts.filter(({ resolver }) => resolver !== undefined).length
  return (
    <p class="facts">
      {plural(
        firsts.length,
        '{resolved} of {count} thread resolved.',
        '{resolved} of {count} threads resolved.',
        { resolved },
      )}
    </p>
  )
}
