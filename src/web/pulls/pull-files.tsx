import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { isCodeOwnersFile } from '../code/code-owners-file.ts'
import { Diff, useDiff } from '../code/diff.tsx'
import type { FileDiff } from '../code/diff-text.ts'
import { Confirmed, onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'
import { useDraft } from '../components/stored.ts'
import { type Discussion, DiscussionContext, useDiscussion } from '../conversations/discussion.ts'
import type { PullName } from './reviews.ts'

const loadCodeOwnerErrors = async () =>
  (await import('../code/code-owner-errors.tsx')).CodeOwnerErrors

interface PullFilesProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  /** Grows when something has happened. */
  readonly version: number
}

/** The changes of a pull request, with what people say about the lines. */
export function PullFiles({ repository, name, pull, version }: PullFilesProps): VNode {
  const { of, session } = useApi()
  const sha = pull.head?.sha ?? ''
  const diff = useDiff(
    (signal) => of(PullFileService).getPullRequestDiff({ ...name, format: 'diff' }, { signal }),
    [sha],
  )
  // Until the changes of a new head are there, comments belong to the head before.
  const head = useMemo(() => sha, [diff.value])
  const discussion = useDiscussion({ repository, name, pull, head, version })
  const canVote = pull.state === 'open' && session.user?.username !== pull.user?.login
  return (
    <DiscussionContext.Provider value={discussion.value}>
      {discussion.value?.canComment && <ReviewHint pending={discussion.value.pending} />}
      {!session.user && (
        <p>
          <SignInLink /> to review the changes.
        </p>
      )}
      <Show of={discussion}>{() => null}</Show>
      <Show of={diff}>
        {(files) => (
          <>
            {repository.permissions?.push && (
              <ChangedCodeOwners name={name} head={head} files={files.files} />
            )}
            <Diff {...files} />
          </>
        )}
      </Show>
      {discussion.value?.canComment && (
        <ReviewBox discussion={discussion.value} canVote={canVote} />
      )}
    </DiscussionContext.Provider>
  )
}

/** What is wrong with a CODEOWNERS file that the pull request adds or changes. */
function ChangedCodeOwners(props: {
  name: PullName
  head: string
  files: readonly FileDiff[]
}): VNode | null {
  const { name, head, files } = props
  const paths = files.flatMap(({ path, change }) =>
    change !== 'removed' && isCodeOwnersFile(path) ? path : [],
  )
  if (paths.length === 0) return null
  const at = { kind: 'commit', name: head } as const
  return <Later key={head} load={loadCodeOwnerErrors} with={{ name, at, paths }} />
}

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
function ReviewHint({ pending }: Pick<Discussion, 'pending'>): VNode {
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
function ReviewBox({ discussion, canVote }: ReviewBoxProps): VNode {
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
