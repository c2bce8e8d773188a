import type { VNode } from 'preact'
import type { IssueComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { type Api, allPages, PAGE, useApi } from '../api/client.ts'
import { useAction } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'
import { useDraft } from '../components/stored.ts'
import type { PullName } from '../pulls/reviews.ts'
import { TextForm } from './comment-forms.tsx'
import type { Discussion } from './discussion.ts'
import { useDraftedFiles } from './drafted-files.ts'
import type { Entry } from './entry.tsx'

/** Reads all comments of an issue or pull request, oldest first. */
export function readComments(
  { of }: Api,
  name: PullName,
  signal: AbortSignal,
): Promise<IssueComment[]> {
  return allPages((page) =>
    of(IssueCommentService)
      .listIssueComments({ ...name, page, limit: PAGE }, { signal })
      .then(({ comments: items, total }) => ({ items, total })),
  )
}

/** Returns a comment as a part of a conversation. */
export function commentEntry(comment: IssueComment): Entry {
  const { id, user, createdAt, updatedAt, body, assets } = comment
  return {
    key: `issuecomment-${id}`,
    who: user?.login ?? '',
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
        <SignInLink /> to comment.
      </p>
    )
  if (!discussion) return null
  if (!discussion.canComment) return <p>The conversation is closed to new comments.</p>
  return <CommentForm name={name} draft={`${discussion.drafts}comment`} onSent={onSent} />
}

function CommentForm(props: { name: PullName; draft: string; onSent: () => void }): VNode {
  const { of } = useApi()
  const { name, draft, onSent } = props
  const [body, setBody] = useDraft(draft)
  const files = useDraftedFiles(draft)
  const sending = useAction(async () => {
    const attachments = files.within(body)
    await of(IssueCommentService).createIssueComment({ ...name, body, attachments })
    setBody('')
    files.clear()
    onSent()
  })
  return (
    <TextForm
      name={name}
      label="Comment"
      text={body}
      submit="Send the comment"
      isRunning={sending.isRunning}
      failure={sending.failure}
      onText={setBody}
      onSend={() => sending.run()}
      attach={{ name, files }}
    />
  )
}
