import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PullReview } from '#gen/branchline/v1/review_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
import type { Discussion } from '../conversations/discussion.ts'
import { t } from '../language/texts.tsx'

interface ReviewProps {
  readonly discussion: Discussion
  readonly review: PullReview
}

/** Actions on a submitted review: dismiss and restore, or delete. */
export function ReviewActions({ discussion, review }: ReviewProps): VNode {
  const { of, session } = useApi()
  const { name, canComment, canDismiss, reload } = discussion
  const isVote = review.state === 'APPROVED' || review.state === 'REQUEST_CHANGES'
  const about = t('the review of {who}', { who: review.user?.login ?? '' })
  const restore = async () => {
    await of(ReviewService).undismissReview({ ...name, id: review.id })
    reload()
  }
  return (
    <div class="buttons">
      {isVote && canDismiss && review.dismissed && (
        <ActionButton text={t('Let the review count again')} about={about} act={restore} />
      )}
      {isVote && canDismiss && !review.dismissed && (
        <Dismissal discussion={discussion} review={review} />
      )}
      {canComment && session.user?.username === review.user?.login && (
        <Deletion discussion={discussion} review={review} />
      )}
    </div>
  )
}

function Dismissal({ discussion, review }: ReviewProps): VNode {
  const { of } = useApi()
  const { name, reload } = discussion
  const [isOpen, setOpen] = useState(false)
  const dismiss = t('Dismiss the review of {who}', { who: review.user?.login ?? '' })
  if (!isOpen)
    return (
      <button type="button" aria-label={dismiss} onClick={() => setOpen(true)}>
        {t('Dismiss')}
      </button>
    )
  return (
    <ActionForm
      label={dismiss}
      submit={t('Dismiss the review')}
      act={async (form) => {
        const message = fieldOf(form, 'message')
        await of(ReviewService).dismissReview({ ...name, id: review.id, message })
        reload()
      }}
    >
      <Field
        label={t('Reason')}
        name="message"
        hint={t('A dismissed review does not count. Everybody sees the reason.')}
      />
      <button type="button" onClick={() => setOpen(false)}>
        {t('Cancel')}
      </button>{' '}
    </ActionForm>
  )
}

function Deletion({ discussion, review }: ReviewProps): VNode {
  const { of } = useApi()
  const { name, reload } = discussion
  return (
    <Confirmed
      action={t('Delete the review')}
      question={t('The review and its comments are deleted for ever.')}
      act={async () => {
        await of(ReviewService).deleteReview({ ...name, id: review.id })
        reload()
      }}
    />
  )
}
