import type { VNode } from 'preact'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { useApi } from '../api/client.ts'
import { useAction } from '../components/load.tsx'
import { useDraft } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { useDraftedFiles } from './drafted-files.ts'
import { TextForm } from './text-form.tsx'

interface CommentFormProps {
  readonly name: PullName
  /** The name of the draft. */
  readonly draft: string
  readonly onSent: () => void
}

/** The form for a new comment on an issue or a pull request. */
export function CommentForm({ name, draft, onSent }: CommentFormProps): VNode {
  const { of } = useApi()
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
      label={t('Comment')}
      text={body}
      submit={t('Send the comment')}
      isRunning={sending.isRunning}
      failure={sending.failure}
      onText={setBody}
      onSend={() => sending.run()}
      attach={{ name, files }}
    />
  )
}
