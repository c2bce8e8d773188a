import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { markupBase } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import type { Failure } from '../api/failure.ts'
import { onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, useAction } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { useDraft } from '../components/stored.ts'
import { type Place, placeKey, placeText } from '../pulls/reviews.ts'
import type { Discussion } from './discussion.ts'
import { loadFileField } from './drafted-files.ts'
import type { FileFieldProps } from './file-field.tsx'

interface TextFormProps {
  /** The repository that relative links lead into. */
  readonly name: { readonly owner: string; readonly repo: string }
  readonly label: string
  readonly text: string
  readonly submit: string
  readonly isRunning: boolean
  readonly failure: Failure | undefined
  readonly onText: (text: string) => void
  readonly onSend: () => void
  /** Where files go that the user adds to the text; undefined for a text without files. */
  readonly attach?: Pick<FileFieldProps, 'name' | 'files'>
  /** More buttons. */
  readonly children?: ComponentChildren
}

/**
 * A form with one text in Markdown, with a preview. Ctrl and Enter send the form, as a button does. The
 * text stays when sending it fails.
 */
export function TextForm(props: TextFormProps): VNode {
  const { name, label, text, submit, isRunning, failure, onText, onSend, attach, children } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const [isPreview, setPreview] = useState(false)
  const isEmpty = text.trim() === ''
  const isShown = isPreview && !isEmpty
  return (
    <form
      onSubmit={onSubmit(onSend)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isRunning)
          event.currentTarget.requestSubmit()
      }}
    >
      {failure && <FailureNote failure={failure} />}
      <label hidden={isShown}>
        {label}
        <textarea
          ref={field}
          rows={4}
          required
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </label>
      {isShown && (
        <section class="note" aria-label={`Preview of: ${label}`}>
          <Markup text={text} base={markupBase(name)} />
        </section>
      )}
      {attach && <Later load={loadFileField} with={{ ...attach, field, onText }} />}
      <p class="buttons">
        <button class="main" type="submit" disabled={isRunning}>
          {submit}
        </button>
        <button
          type="button"
          aria-pressed={isShown}
          aria-label={`Preview: ${label}`}
          disabled={isEmpty}
          onClick={() => setPreview(!isPreview)}
        >
          Preview
        </button>
        {children}
      </p>
    </form>
  )
}

interface EditorProps {
  readonly name: TextFormProps['name']
  readonly body: string
  readonly save: (body: string) => Promise<unknown>
  readonly onClose: () => void
}

/** A form with the text of a comment, which the user changes. */
export function CommentEditor({ name, body, save, onClose }: EditorProps): VNode {
  const [text, setText] = useState(body)
  const saving = useAction(async () => {
    await save(text)
    onClose()
  })
  return (
    <TextForm
      name={name}
      label="New text of the comment"
      text={text}
      submit="Save the comment"
      isRunning={saving.isRunning}
      failure={saving.failure}
      onText={setText}
      onSend={() => saving.run()}
    >
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </TextForm>
  )
}

/**
 * The API demands a text from a pending review. Another client that submits the review may keep the
 * text, so that it is a comment, which readers of Markdown do not see.
 */
const PENDING_TEXT = '<!-- A review that is not submitted yet. -->'

interface LineFormProps {
  readonly discussion: Discussion
  readonly place: Place
  /** Whether the form takes the focus when it appears. */
  readonly isFocused: boolean
  readonly onClose: () => void
}

/** A comment on a line: for the pending review, or at once. */
export function LineForm({ discussion, place, isFocused, onClose }: LineFormProps): VNode {
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
        label={`Comment on ${placeText(place)}`}
        text={body}
        submit={pending ? 'Add to the review' : 'Begin a review'}
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
            Comment at once
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
      </TextForm>
    </div>
  )
}
