import type { VNode } from 'preact'
import type { Issue, IssuePullRequest } from '#gen/branchline/v1/issue_pb.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { t } from '../language/texts.tsx'

interface Mark {
  readonly icon: IconName
  readonly text: string
  /** The class of its colour. */
  readonly colour: string
}

const REVIEWS: Readonly<Record<string, Mark>> = {
  approved: { icon: 'circle-check', text: t('approved @review'), colour: 'success' },
  changes_requested: { icon: 'circle-alert', text: t('changes requested'), colour: 'failure' },
  requested: { icon: 'eye', text: t('waits for a review'), colour: '' },
}

const CHECKS: Readonly<Record<string, Mark>> = {
  success: { icon: 'circle-check', text: t('checks succeeded'), colour: 'success' },
  failure: { icon: 'circle-x', text: t('checks failed'), colour: 'failure' },
  pending: { icon: 'circle-dot', text: t('checks are running'), colour: '' },
}

/** Returns the state of an issue, or that of a pull request in one word. */
export function pullStateOf({ state, pullRequest: pull }: Issue): string {
  if (pull?.merged) return 'merged'
  return pull?.draft && state === 'open' ? 'draft' : state
}

/** What a pull request of a list waits for: review, checks, and its place in a merge queue. */
export function PullTags({ pull }: { pull: IssuePullRequest }): VNode {
  const { reviewState, checksState, mergeQueuePosition: position } = pull
  const marks = [REVIEWS[reviewState], CHECKS[checksState]]
  return (
    <>
      {marks.map(
        (mark) =>
          mark && (
            <span key={mark.text} class={`tag ${mark.colour}`}>
              <Icon name={mark.icon} />
              {mark.text}
            </span>
          ),
      )}
      {position > 0 && (
        <span class="tag">
          {t('place {position} in the merge queue', { position: String(position) })}
        </span>
      )}
    </>
  )
}
