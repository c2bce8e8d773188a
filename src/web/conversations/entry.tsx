import type { VNode } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Attachment } from '#gen/branchline/v1/release_pb.ts'
import type { PullReview } from '#gen/branchline/v1/review_pb.ts'
import { markupBase } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { Later } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Person } from '../components/person.tsx'
import { addToDraft } from '../components/stored.ts'
import { T, t } from '../language/texts.tsx'
import type { PullName, Thread } from '../pulls/reviews.ts'
import type { Discussion } from './discussion.ts'
import { quotationOf } from './quotation.ts'
import { ReactionContext } from './reaction-counts.ts'

/** Something that somebody said. */
export interface Entry {
  /** The fragment that `html_url` has. */
  readonly key: string
  readonly who: string
  /** The account of `who`, if that is no team. */
  readonly account: Account | undefined
  /** Login of the author at another server, if `who` has imported the text. */
  readonly originalAuthor?: string
  readonly did:
    | 'opened'
    | 'commented'
    | `${'approved the changes' | 'asked for changes' | 'reviewed'}${'' | ' (dismissed)'}`
  readonly at: PullRequest['createdAt']
  readonly body: string
  /** The number of the comment, if the entry is one. */
  readonly comment?: bigint
  /** The submitted review, if the entry is one. */
  readonly review?: PullReview
  readonly threads: readonly Thread[]
  /** Whether the comment has changed since it was written. */
  readonly isEdited?: boolean
  /** Files that are attached to the text. */
  readonly assets?: readonly Attachment[]
}

interface EntryProps {
  readonly name: PullName
  readonly entry: Entry
  readonly discussion: Discussion | undefined
  readonly onChange: () => void
}

const loadEditor = async () => (await import('./conversation.later.ts')).CommentEditor
const loadThread = async () => (await import('../pulls/pull.later.ts')).EntryThread
const loadFormerTexts = async () => (await import('./former-texts.tsx')).FormerTexts
const loadAttachedFiles = async () => (await import('./attached-files.tsx')).AttachedFiles
const loadReviewActions = async () => (await import('../pulls/pull.later.ts')).ReviewActions

/** A comment or a review in a conversation. */
export function EntryView(props: EntryProps): VNode {
  const { name, entry, discussion } = props
  const { session } = useApi()
  const { key, who, did, comment, review, threads, assets = [], originalAuthor = '' } = entry
  const [isEdited, setEdited] = useState(false)
  const [showsFormer, setShowsFormer] = useState(false)
  return (
    <article
      id={key || undefined}
      class="entry"
      aria-label={t(`{who} ${did}`, { who: originalAuthor || who })}
    >
      <EntryHeader
        {...props}
        showsFormer={showsFormer}
        onFormer={() => setShowsFormer(!showsFormer)}
        onEdit={isEdited ? undefined : () => setEdited(true)}
      />
      <EntryText {...props} isEdited={isEdited} onClose={() => setEdited(false)} />
      {showsFormer && comment !== undefined && (
        <Later load={loadFormerTexts} with={{ name, comment }} />
      )}
      {assets.length > 0 && <Later load={loadAttachedFiles} with={{ files: assets }} />}
      <EntryReactions name={name} entry={entry} discussion={discussion} />
      {review?.dismissalMessage && (
        <p>{t('Dismissed: {reason}', { reason: review.dismissalMessage })}</p>
      )}
      {discussion && review && (discussion.canDismiss || session.user?.username === who) && (
        <Later load={loadReviewActions} with={{ discussion, review }} />
      )}
      {discussion &&
        threads.map((thread) => (
          <Later
            key={String(thread.comments[0]?.id)}
            load={loadThread}
            with={{ discussion, thread }}
          />
        ))}
    </article>
  )
}

interface EntryHeaderProps extends EntryProps {
  readonly showsFormer: boolean
  readonly onFormer: () => void
  /** Undefined while the text is in the editor. */
  readonly onEdit: (() => void) | undefined
}

/** Who wrote an entry, and what the reader can do with its text. */
function EntryHeader(props: EntryHeaderProps): VNode {
  const { name, entry, discussion, onChange, showsFormer, onFormer, onEdit } = props
  const { session } = useApi()
  const { who, body, comment, originalAuthor = '' } = entry
  const canChange =
    discussion?.canComment && (discussion.canModerate || session.user?.username === who)
  return (
    <header>
      <EntryHead entry={entry} />{' '}
      {originalAuthor !== '' && <span class="tag">{t('imported')}</span>}
      <span class="space" />
      {entry.isEdited && (
        <button type="button" class="small" aria-expanded={showsFormer} onClick={onFormer}>
          {t('edited')}
        </button>
      )}{' '}
      {discussion?.canComment && body !== '' && (
        <button
          type="button"
          class="small"
          aria-label={t('Quote what {who} wrote', { who })}
          onClick={() => quote(discussion, body)}
        >
          {t('Quote')}
        </button>
      )}{' '}
      {comment !== undefined && canChange && onEdit && (
        <CommentActions name={name} comment={comment} onEdit={onEdit} onChange={onChange} />
      )}
    </header>
  )
}

interface EntryTextProps extends EntryProps {
  readonly isEdited: boolean
  /** Ends the editor. */
  readonly onClose: () => void
}

/** The text of an entry, or the editor of the text. */
function EntryText({ name, entry, onChange, isEdited, onClose }: EntryTextProps): VNode | null {
  const { of } = useApi()
  const { body, comment } = entry
  if (comment === undefined || !isEdited)
    return body === '' ? null : <Markup text={body} base={markupBase(name)} />
  const save = async (text: string) => {
    const request = { owner: name.owner, repo: name.repo, id: comment, body: text }
    await of(IssueCommentService).editIssueComment(request)
    onChange()
  }
  return <Later load={loadEditor} with={{ name, body, save, onClose }} />
}

/** Who did what, and when. */
function EntryHead({ entry }: Pick<EntryProps, 'entry'>): VNode {
  const { key, who, account, originalAuthor = '', did, at } = entry
  const author =
    account && originalAuthor === '' ? (
      <Person login={who} account={account} />
    ) : (
      <strong>{originalAuthor || who}</strong>
    )
  const time = <Time at={at} />
  const place = (
    <a class="quiet" href={`#${key}`}>
      {time}
    </a>
  )
  return <T text={`{who} ${did} {time}` as const} who={author} time={key === '' ? time : place} />
}

const loadReactions = async () => (await import('./conversation.later.ts')).Reactions

/** The reactions to a comment or to the text that opens the conversation; reviews have none. */
function EntryReactions(props: Omit<EntryProps, 'onChange'>): VNode | null {
  const counts = useContext(ReactionContext)
  const { name, entry, discussion } = props
  const { key, who, comment } = entry
  const target = comment ?? (key === '' ? 0n : undefined)
  if (!counts || target === undefined) return null
  const canReact = discussion?.canComment === true
  if (!canReact && !counts.of.has(target)) return null
  return <Later load={loadReactions} with={{ name, comment: target, who, counts, canReact }} />
}

/** Begins a comment with the words of another one. */
function quote({ drafts }: Discussion, body: string): void {
  addToDraft(`${drafts}comment`, quotationOf(body))
  document.querySelector<HTMLElement>('#new-comment textarea')?.focus()
}

interface CommentProps {
  readonly name: PullName
  readonly comment: bigint
  readonly onChange: () => void
}

function CommentActions(props: CommentProps & { onEdit: () => void }): VNode {
  const { of } = useApi()
  const { name, comment, onEdit, onChange } = props
  const remove = async () => {
    const request = { owner: name.owner, repo: name.repo, id: comment }
    await of(IssueCommentService).deleteIssueComment(request)
    onChange()
  }
  return (
    <>
      <button type="button" class="small" onClick={onEdit}>
        {t('Edit')}
      </button>{' '}
      <Confirmed
        action={t('Delete')}
        question={t('The comment is deleted for ever.')}
        isSmall
        act={remove}
      />
    </>
  )
}
