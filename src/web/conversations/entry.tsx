import type { VNode } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Attachment } from '#gen/branchline/v1/release_pb.ts'
import type { PullReview } from '#gen/branchline/v1/review_pb.ts'
import { markupBase } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { readDiff } from '../code/diff-text.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { Later } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Scrolling } from '../components/page.tsx'
import { Person } from '../components/person.tsx'
import { addToDraft } from '../components/stored.ts'
import { type PullName, placeText, type Thread } from '../pulls/reviews.ts'
import { CommentEditor } from './comment-editor.tsx'
import type { Discussion } from './discussion.ts'
import { quotationOf } from './quotation.ts'
import { ReactionContext } from './reaction-counts.ts'
import { ThreadView } from './thread.tsx'

/** Something that somebody said. */
export interface Entry {
  /** The fragment that `html_url` has. */
  readonly key: string
  readonly who: string
  /** The account of `who`, if that is no team. */
  readonly account: Account | undefined
  /** Login of the author at another server, if `who` has imported the text. */
  readonly originalAuthor?: string
  readonly did: string
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

const loadFormerTexts = async () => (await import('./former-texts.tsx')).FormerTexts
const loadAttachedFiles = async () => (await import('./attached-files.tsx')).AttachedFiles
const loadReviewActions = async () => (await import('../pulls/pull.later.ts')).ReviewActions

/** A comment or a review in a conversation. */
export function EntryView({ name, entry, discussion, onChange }: EntryProps): VNode {
  const { of, session } = useApi()
  const { key, who, account, did, at, body, comment, review, threads, assets = [] } = entry
  const { originalAuthor = '' } = entry
  const [isEdited, setEdited] = useState(false)
  const [showsFormer, setShowsFormer] = useState(false)
  const canChange =
    discussion?.canComment && (discussion.canModerate || session.user?.username === who)
  return (
    <article id={key || undefined} class="entry" aria-label={`${originalAuthor || who} ${did}`}>
      <header>
        {account && originalAuthor === '' ? (
          <Person login={who} account={account} />
        ) : (
          <strong>{originalAuthor || who}</strong>
        )}{' '}
        {did}{' '}
        {key === '' ? (
          <Time at={at} />
        ) : (
          <a class="quiet" href={`#${key}`}>
            <Time at={at} />
          </a>
        )}{' '}
        {originalAuthor !== '' && <span class="tag">imported</span>}
        <span class="space" />
        {entry.isEdited && (
          <button
            type="button"
            class="small"
            aria-expanded={showsFormer}
            onClick={() => setShowsFormer(!showsFormer)}
          >
            edited
          </button>
        )}{' '}
        {discussion?.canComment && body !== '' && (
          <button
            type="button"
            class="small"
            aria-label={`Quote what ${who} wrote`}
            onClick={() => quote(discussion, body)}
          >
            Quote
          </button>
        )}{' '}
        {comment !== undefined && canChange && !isEdited && (
          <CommentActions
            name={name}
            comment={comment}
            onEdit={() => setEdited(true)}
            onChange={onChange}
          />
        )}
      </header>
      {comment !== undefined && isEdited ? (
        <CommentEditor
          name={name}
          body={body}
          save={async (text) => {
            const request = { owner: name.owner, repo: name.repo, id: comment, body: text }
            await of(IssueCommentService).editIssueComment(request)
            onChange()
          }}
          onClose={() => setEdited(false)}
        />
      ) : (
        body !== '' && <Markup text={body} base={markupBase(name)} />
      )}
      {showsFormer && comment !== undefined && (
        <Later load={loadFormerTexts} with={{ name, comment }} />
      )}
      {assets.length > 0 && <Later load={loadAttachedFiles} with={{ files: assets }} />}
      <EntryReactions name={name} entry={entry} discussion={discussion} />
      {review?.dismissalMessage && <p>Dismissed: {review.dismissalMessage}</p>}
      {discussion && review && (discussion.canDismiss || session.user?.username === who) && (
        <Later load={loadReviewActions} with={{ discussion, review }} />
      )}
      {discussion &&
        threads.map((thread) => (
          <div key={String(thread.comments[0]?.id)}>
            <Hunk thread={thread} />
            <ThreadView discussion={discussion} thread={thread} />
          </div>
        ))}
    </article>
  )
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
  const about = `what ${who} wrote`
  return <Later load={loadReactions} with={{ name, comment: target, about, counts, canReact }} />
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
        Edit
      </button>{' '}
      <Confirmed action="Delete" question="The comment is deleted for ever." isSmall act={remove} />
    </>
  )
}

/** A reader of the conversation needs the line and a few before it. */
const HUNK_LINES = 4

/** The line that a thread is about, with the lines before it. */
function Hunk({ thread }: { thread: Thread }): VNode | null {
  const hunk = thread.comments[0]?.diffHunk ?? ''
  const [file] = readDiff(`diff --git a/x b/x\n${hunk}`)
  const lines = file?.lines.filter(({ kind }) => kind !== 'hunk').slice(-HUNK_LINES) ?? []
  if (lines.length === 0) return null
  return (
    <Scrolling label={`Changes before ${placeText(thread.place)}`}>
      <table class="diff">
        <tbody>
          {lines.map(({ kind, text, oldNumber, newNumber }, i) => (
            <tr key={i} class={kind}>
              <td class="number">{newNumber ?? oldNumber}</td>
              <td class="text">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}
