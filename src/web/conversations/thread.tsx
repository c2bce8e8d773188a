import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PullReviewComment } from '#gen/branchline/v1/review_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { markupBase } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { FailureNote, Later, useAction } from '../components/load.tsx'
import type { LinkBase } from '../components/markdown.ts'
import { Markup } from '../components/markup.tsx'
import { Person, writerOf } from '../components/person.tsx'
import { addToDraft, useDraft } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import { placeText, type Thread } from '../pulls/reviews.ts'
import { CommentEditor } from './comment-editor.tsx'
import type { Discussion } from './discussion.ts'
import { quotationOf } from './quotation.ts'
import { TextForm } from './text-form.tsx'

interface ThreadProps {
  readonly discussion: Discussion
  readonly thread: Thread
}

/** The comments on a line, with an answer and the mark that the matter is resolved. */
export function ThreadView({ discussion, thread }: ThreadProps): VNode | null {
  const { of } = useApi()
  const { name, pending, canComment, canResolve, head, reload } = discussion
  const [first] = thread.comments
  const isResolved = first?.resolver !== undefined
  const resolving = useAction(async () => {
    if (!first) return
    const request = { owner: name.owner, repo: name.repo, comment: first.id }
    await (isResolved
      ? of(ReviewService).unresolveReviewComment(request)
      : of(ReviewService).resolveReviewComment(request))
    reload()
  })
  if (!first) return null
  const isPending = first.pullRequestReviewId === pending?.id
  const title = placeText(thread.place)
  const turn = isResolved ? 'Open again' : 'Resolve'
  // Lines of the base stay, whatever is pushed.
  const isOutdated = thread.place.side === 'new' && first.commitId !== head
  return (
    <details class="remark" open={!isResolved}>
      <summary>
        {title}
        {isPending && <span class="tag">{t('pending')}</span>}
        {first.resolver && (
          <span class="tag">{t('resolved by {who}', { who: first.resolver.login })}</span>
        )}
        {isOutdated && <span class="tag">{t('outdated')}</span>}
      </summary>
      {thread.comments.map((comment) => (
        <LineComment
          key={String(comment.id)}
          discussion={discussion}
          comment={comment}
          canApply={discussion.canApply && !isPending && !isOutdated}
          onQuote={
            canComment && !isPending
              ? () => addToDraft(replyDraft(discussion, first), quotationOf(comment.body))
              : undefined
          }
        />
      ))}
      {resolving.failure && <FailureNote failure={resolving.failure} />}
      {!isPending && (
        <div class="buttons">
          {canComment && <Reply discussion={discussion} first={first} title={title} />}
          {canResolve && (
            <button
              type="button"
              aria-label={t(`${turn}: {place}`, { place: title })}
              disabled={resolving.isRunning}
              onClick={() => resolving.run()}
            >
              {t(turn)}
            </button>
          )}
        </div>
      )}
    </details>
  )
}

interface LineCommentProps {
  readonly discussion: Discussion
  readonly comment: PullReviewComment
  /** Whether the user may apply what the comment proposes. */
  readonly canApply: boolean
  /** Begins a reply with the words of the comment; undefined if the user cannot reply. */
  readonly onQuote: (() => void) | undefined
}

const loadFormerTexts = async () => (await import('./former-texts.tsx')).FormerTexts
const loadSuggestionText = async () => (await import('./suggestion.tsx')).SuggestionText
const loadSuggestionActions = async () => (await import('./suggestion.tsx')).SuggestionActions

function LineComment(props: LineCommentProps): VNode {
  const { of } = useApi()
  const { discussion, comment, canApply, onQuote } = props
  const { id, body, pullRequestReviewId, suggestion } = comment
  const { name, reload } = discussion
  const [isEdited, setEdited] = useState(false)
  const [showsFormer, setShowsFormer] = useState(false)
  const edit = async (text: string) => {
    const request = { ...name, id: pullRequestReviewId, comment: id, body: text }
    await of(ReviewService).editReviewComment(request)
    reload()
  }
  return (
    <div class="said" id={`review-comment-${id}`}>
      <div class="facts">
        <LineCommentHead
          comment={comment}
          showsFormer={showsFormer}
          onFormer={() => setShowsFormer(!showsFormer)}
        />
        <LineCommentActions
          discussion={discussion}
          comment={comment}
          onQuote={onQuote}
          onEdit={isEdited ? undefined : () => setEdited(true)}
        />
      </div>
      {isEdited ? (
        <CommentEditor name={name} body={body} save={edit} onClose={() => setEdited(false)} />
      ) : (
        <CommentText comment={comment} base={markupBase(name)} />
      )}
      {showsFormer && (
        <Later load={loadFormerTexts} with={{ name, comment: id, review: pullRequestReviewId }} />
      )}
      {canApply && suggestion && (
        <Later load={loadSuggestionActions} with={{ discussion, comment, suggestion }} />
      )}
    </div>
  )
}

/** Who has written a comment, when, and the mark of one that was changed later. */
function LineCommentHead(props: {
  comment: PullReviewComment
  showsFormer: boolean
  onFormer: () => void
}): VNode {
  const { comment, showsFormer, onFormer } = props
  const { id, user, originalAuthor, createdAt, updatedAt } = comment
  return (
    <>
      {originalAuthor === '' ? (
        <Person login={user?.login ?? ''} account={user} />
      ) : (
        <strong>{originalAuthor}</strong>
      )}{' '}
      <a class="quiet" href={`#review-comment-${id}`}>
        <Time at={createdAt} />
      </a>{' '}
      <span class="space" />
      {(updatedAt?.seconds ?? 0n) > (createdAt?.seconds ?? 0n) && (
        <button type="button" class="small" aria-expanded={showsFormer} onClick={onFormer}>
          {t('edited')}
        </button>
      )}{' '}
    </>
  )
}

/** The buttons that quote, change and delete a comment. */
function LineCommentActions(
  props: Pick<LineCommentProps, 'discussion' | 'comment' | 'onQuote'> & {
    /** Undefined while the user changes the comment. */
    onEdit: (() => void) | undefined
  },
): VNode {
  const { of, session } = useApi()
  const { discussion, comment, onQuote, onEdit } = props
  const { name, canComment, canModerate, reload } = discussion
  const remove = async () => {
    const request = { ...name, id: comment.pullRequestReviewId, comment: comment.id }
    await of(ReviewService).deleteReviewComment(request)
    reload()
  }
  const isOwn = session.user !== undefined && session.user.username === comment.user?.login
  const canDelete = canModerate || isOwn
  const about = { path: comment.path, who: writerOf(comment) }
  return (
    <>
      {onQuote && (
        <button
          type="button"
          class="small"
          aria-label={t('Quote: comment on {path} by {who}', about)}
          onClick={onQuote}
        >
          {t('Quote')}
        </button>
      )}{' '}
      {canDelete && canComment && onEdit && (
        <button
          type="button"
          class="small"
          aria-label={t('Edit: comment on {path} by {who}', about)}
          onClick={onEdit}
        >
          {t('Edit')}
        </button>
      )}{' '}
      {canDelete && (
        <Confirmed
          action={t('Delete')}
          about={t('the comment on {path} by {who}', about)}
          question={t('The comment is deleted for ever.')}
          isSmall
          act={remove}
        />
      )}
    </>
  )
}

function CommentText({ comment, base }: { comment: PullReviewComment; base: LinkBase }): VNode {
  const { body, suggestion } = comment
  if (!suggestion) return <Markup text={body} base={base} />
  return <Later load={loadSuggestionText} with={{ comment, suggestion, base }} />
}

function replyDraft({ drafts }: Discussion, first: PullReviewComment): string {
  return `${drafts}reply ${first.id}`
}

function Reply(props: { discussion: Discussion; first: PullReviewComment; title: string }): VNode {
  const { of } = useApi()
  const { discussion, first, title } = props
  const { name, reload } = discussion
  const [body, setBody] = useDraft(replyDraft(discussion, first))
  const [isOpen, setOpen] = useState(body !== '')
  const box = useRef<HTMLDivElement>(null)
  // A quotation opens the form. An effect runs after the form is there.
  const hasText = body !== ''
  useEffect(() => {
    if (!hasText || isOpen) return
    setOpen(true)
    box.current?.querySelector('textarea')?.focus()
  }, [hasText, isOpen])
  const close = () => {
    setBody('')
    setOpen(false)
  }
  const sending = useAction(async () => {
    await of(ReviewService).replyToReviewComment({ ...name, comment: first.id, body })
    close()
    reload()
  })
  if (!isOpen && !hasText)
    return (
      <button
        type="button"
        aria-label={t('Reply: {place}', { place: title })}
        onClick={() => setOpen(true)}
      >
        {t('Reply')}
      </button>
    )
  return (
    <div ref={box}>
      <TextForm
        name={name}
        label={t('Reply on {place}', { place: title })}
        text={body}
        submit={t('Send the reply')}
        isRunning={sending.isRunning}
        failure={sending.failure}
        onText={setBody}
        onSend={() => sending.run()}
      >
        <button type="button" onClick={close}>
          {t('Cancel')}
        </button>
      </TextForm>
    </div>
  )
}
