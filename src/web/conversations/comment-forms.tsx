import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { useAction } from '../components/load.tsx'
import { addToDraft, useDraft } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import { type Place, placeKey, placeText } from '../pulls/reviews.ts'
import type { Discussion } from './discussion.ts'
import { suggestionBlock } from './quotation.ts'
import { TextForm } from './text-form.tsx'

/**
 * The API demands a text from a pending review. Another client that submits the review may keep the
 * text, so that it is a comment, which readers of Markdown do not see.
 */
const PENDING_TEXT = '<!-- A review that is not submitted yet. -->'

interface LineFormProps {
  readonly discussion: Discussion
  readonly place: Place
  /** The line, if a comment can propose to change it. */
  readonly code?: string | undefined
  /** Whether the form takes the focus when it appears. */
  readonly isFocused: boolean
  readonly onClose: () => void
}

/** A comment on a line: for the pending review, or at once. */
export function LineForm(props: LineFormProps): VNode {
  const { discussion, place, code, isFocused, onClose } = props
  const { of } = useApi()
  const { name, head, pending, drafts, reload } = discussion
  const [body, setBody] = useDraft(drafts + placeKey(place))
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isFocused) box.current?.querySelector('textarea')?.focus()
  }, [isFocused])
  const close = () => {
    setBody('')
    onClose()
  }
  const sending = useAction(async (event: 'PENDING' | 'COMMENT') => {
    const { path, side, line } = place
    const position = side === 'old' ? { oldPosition: BigInt(line) } : { newPosition: BigInt(line) }
    await of(ReviewService).createReview({
      ...name,
      event,
      body: event === 'PENDING' ? PENDING_TEXT : '',
      commitId: head,
      comments: [{ path, body, ...position }],
    })
    close()
    reload()
  })
  return (
    <div class="remark" ref={box}>
      <TextForm
        name={name}
        label={t('Comment on {place}', { place: placeText(place) })}
        text={body}
        submit={t(pending ? 'Add to the review' : 'Begin a review')}
        isRunning={sending.isRunning}
        failure={sending.failure}
        onText={setBody}
        onSend={() => sending.run('PENDING')}
      >
        {/* With a pending review, the API would submit all of it. */}
        {!pending && (
          <button
            type="button"
            disabled={sending.isRunning || body.trim() === ''}
            onClick={() => sending.run('COMMENT')}
          >
            {t('Comment at once')}
          </button>
        )}
        {code !== undefined && (
          <button
            type="button"
            onClick={() => addToDraft(drafts + placeKey(place), suggestionBlock(code))}
          >
            {t('Suggest a change')}
          </button>
        )}
        <button type="button" onClick={close}>
          {t('Cancel')}
        </button>
      </TextForm>
    </div>
  )
}
