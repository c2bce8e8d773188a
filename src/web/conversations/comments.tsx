import type { VNode } from 'preact'
import type { IssueComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import { useApi } from '../api/client.ts'
import { Later } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import type { Discussion } from './discussion.ts'
import type { Entry } from './entry.tsx'

const loadCommentForm = async () => (await import('./conversation.later.ts')).CommentForm

/** Returns a comment as a part of a conversation. */
export function commentEntry(comment: IssueComment): Entry {
  const { id, user, originalAuthor, createdAt, updatedAt, body, assets } = comment
  return {
    key: `issuecomment-${id}`,
    who: user?.login ?? '',
    account: user,
    originalAuthor,
    did: 'commented',
    at: createdAt,
    body,
    comment: id,
    isEdited: (updatedAt?.seconds ?? 0n) > (createdAt?.seconds ?? 0n),
    assets,
    threads: [],
  }
}

/** The form for a new comment, or why there is none. */
export function NewComment(props: {
  name: PullName
  discussion: Discussion | undefined
  onSent: () => void
}): VNode | null {
  const { session } = useApi()
  const { name, discussion, onSent } = props
  if (!session.user)
    return (
      <p>
        <T text="{signIn} to comment." signIn={<SignInLink />} />
      </p>
    )
  if (!discussion) return null
  if (!discussion.canComment) return <p>{t('The conversation is closed to new comments.')}</p>
  const draft = `${discussion.drafts}comment`
  return (
    <div id="new-comment">
      <Later load={loadCommentForm} with={{ name, draft, onSent }} />
    </div>
  )
}
