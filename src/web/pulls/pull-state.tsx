import type { VNode } from 'preact'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { StateTag } from '../components/state-tag.tsx'
import { t } from '../language/texts.tsx'

/** The state of a pull request in one word, and the place in a merge queue. */
export function PullState({ pull }: { pull: PullRequest }): VNode {
  const { merged, state, draft, mergeQueueEntry: entry } = pull
  const text = merged ? 'merged' : state === 'closed' ? 'closed' : draft ? 'draft' : 'open'
  return (
    <>
      <StateTag state={text} isPull />
      {entry && (
        <span class="tag">
          {t('place {position} in the merge queue', { position: String(entry.position) })}
        </span>
      )}
    </>
  )
}
