import type { VNode } from 'preact'
import { counted } from '../components/formats.tsx'
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
      {resolved.toLocaleString()} of {counted(firsts.length, 'thread')} resolved.
    </p>
  )
}
