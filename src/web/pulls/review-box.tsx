import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Confirmed } from '../components/confirmed.tsx'
import { FailureNote } from '../components/failure-note.tsx'
import { onSubmit } from '../components/field.tsx'
import { useAction } from '../components/load.tsx'
import { useDraft } from '../components/stored.ts'
import type { Discussion } from '../conversations/discussion.ts'

type Verdict = 'COMMENT' | 'APPROVED' | 'REQUEST_CHANGES'

const VERDICTS: readonly (readonly [Verdict, string])[] = [
  ['COMMENT', 'Comment'],
  ['APPROVED', 'Approve'],
  ['REQUEST_CHANGES', 'Request changes'],
]

interface ReviewBoxProps {
  readonly discussion: Discussion
  /** Whether the user may approve and reject: the pull request is open, and of somebody else. */
  readonly canVote: boolean
}

/** Actions above the changes. The review is below them, since the user reads them first. */
export function ReviewHint({ pending }: Pick<Discussion, 'pending'>): VNode {
  const count = Number(pending?.commentsCount ?? 0n)
  return (
    <p>
      {pending
        ? `${count === 1 ? '1 comment waits' : `${count} comments wait`} for the submission. Nobody else sees a pending review. `
        : 'Choose the number of a line to comment on the line. '}
      <a href="#review">Go to your review</a>
    </p>
  )
}

/** The review that the user has begun, and its submission. */
export function ReviewBox({ discussion, canVote }: ReviewBoxProps): VNode {
  const { of } = useApi()
  const { name, head, pending, drafts, reload } = discussion
  const [body, setBody] = useDraft(`${drafts}summary`)
  const [verdict, setVerdict] = useState<Verdict>('COMMENT')
  const [sent, setSent] = useState(false)
  const count = Number(pending?.commentsCount ?? 0n)
  const submission = useAction(async () => {
    setSent(false)
    // Submits the pending review with it. What arrives after this page was shown is not approved.
    await of(ReviewService).createReview({ ...name, event: verdict, body, commitId: head })
    setBody('')
    setVerdict('COMMENT')
    setSent(true)
    reload()
  })
  const isBodyRequired = verdict === 'REQUEST_CHANGES' || (verdict === 'COMMENT' && count === 0)
  return (
    <section class="box" aria-labelledby="review">
      <h3 id="review">Your review</h3>
      <form onSubmit={onSubmit(() => submission.run())}>
        {submission.failure && <FailureNote failure={submission.failure} />}
        <label>
          {isBodyRequired ? 'Summary' : 'Summary (optional)'}
          <textarea
            rows={3}
            required={isBodyRequired}
            value={body}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </label>
        {canVote && <Verdicts chosen={verdict} onChoose={setVerdict} />}
        <div class="buttons">
          <button class="main" type="submit" disabled={submission.isRunning}>
            Submit the review
          </button>
          {pending && <Discard discussion={discussion} id={pending.id} />}
        </div>
      </form>
      <p role="status">{sent && 'The review is submitted.'}</p>
    </section>
  )
}

function Verdicts(props: { chosen: Verdict; onChoose: (verdict: Verdict) => void }): VNode {
  const { chosen, onChoose } = props
  return (
    <fieldset>
      <legend>Verdict</legend>
      {VERDICTS.map(([value, text]) => (
        <label key={value} class="choice">
          <input
            type="radio"
            name="verdict"
            value={value}
            checked={chosen === value}
            onChange={() => onChoose(value)}
          />{' '}
          {text}
        </label>
      ))}
    </fieldset>
  )
}

function Discard({ discussion, id }: { discussion: Discussion; id: bigint }): VNode {
  const { of } = useApi()
  const { name, reload } = discussion
  return (
    <Confirmed
      action="Discard the pending review"
      question="All comments of the pending review are deleted."
      act={async () => {
        await of(ReviewService).deleteReview({ ...name, id })
        reload()
      }}
    />
  )
}
