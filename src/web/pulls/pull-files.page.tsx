import type { VNode } from 'preact'
import { useCallback, useMemo, useState } from 'preact/hooks'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { isCodeOwnersFile } from '../code/code-owners-file.ts'
import { Diff, useDiff } from '../code/diff.tsx'
import type { DiffFiles, FileDiff } from '../code/diff-text.ts'
import { WholeFileContext } from '../code/use-gaps.ts'
import { fromBase64, textOf } from '../components/formats.tsx'
import { Confirmed, onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'
import { useDraft } from '../components/stored.ts'
import {
  type Discussion,
  DiscussionContext,
  type PullDiscussion,
  useDiscussion,
} from '../conversations/discussion.ts'
import { ThreadCounts } from '../conversations/thread-counts.tsx'
import { plural, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { PullFrame, type PullTabProps } from './pull-frame.tsx'
import { type PullName, SILENT } from './reviews.ts'
import { useViewedFiles, ViewedContext, type ViewedFiles } from './viewed-files.ts'

const loadCodeOwnerErrors = async () =>
  (await import('../code/code-owner-errors.tsx')).CodeOwnerErrors

/** The changes of a pull request, with what people say about the lines. */
export function PullFilesPage(page: PageProps): VNode {
  const since = sinceOf(page.query)
  return <PullFrame page={page}>{(props) => <PullFiles {...props} since={since} />}</PullFrame>
}

/** Returns the commit whose changes the user knows; empty for all changes. */
function sinceOf(query: URLSearchParams): string {
  const since = query.get('since') ?? ''
  return /^[0-9a-f]{40,64}$/.test(since) ? since : ''
}

interface PullFilesProps extends PullTabProps {
  /** Full id of the commit whose changes the user knows; empty for all changes. */
  readonly since: string
}

function PullFiles({ repository, name, whole, pull, onChange, since }: PullFilesProps): VNode {
  const { of, session } = useApi()
  const sha = pull.head?.sha ?? ''
  const diff = useDiff(
    (signal) =>
      since === ''
        ? of(PullFileService).getPullRequestDiff({ ...name, format: 'diff' }, { signal })
        : of(CommitService).getComparisonDiff(
            { owner: name.owner, repo: name.repo, basehead: `${since}...${sha}`, format: 'diff' },
            { signal },
          ),
    [sha, since],
  )
  // Until the changes of a new head are there, comments belong to the head before.
  const head = useMemo(() => sha, [diff.value])
  const { reviews } = whole
  const discussion = useDiscussion({ repository, name, pull, head, reviews, reload: onChange })
  const viewed = useViewedFiles(name, head)
  const readWhole = useCallback(
    async (path: string) => {
      const request = { owner: name.owner, repo: name.repo, ref: head, path }
      const { entry } = await of(ContentService).getContents(request)
      return linesOf(fromBase64(entry?.content ?? ''))
    },
    [of, name.owner, name.repo, head],
  )
  const canVote = pull.state === 'open' && session.user?.username !== pull.user?.login
  // Old lines of a part of the changes are not those of the base, which comments are about.
  const remarks = since === '' ? discussion : undefined
  return (
    <DiscussionContext.Provider value={remarks}>
      <ViewedContext.Provider value={viewed}>
        <WholeFileContext.Provider value={readWhole}>
          <SinceReview name={name} discussion={discussion} since={since} />
          {remarks?.canComment && <ReviewHint pending={remarks.pending} />}
          {remarks && <ThreadCounts discussion={remarks} />}
          {remarks && remarks.chosen.size > 0 && (
            <Later load={loadChosenSuggestions} with={{ discussion: remarks }} />
          )}
          {!session.user && (
            <p>
              <T text="{signIn} to review the changes." signIn={<SignInLink />} />
            </p>
          )}
          <ViewedCount viewed={viewed} files={diff.value} />
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
          {discussion.canComment && <ReviewBox discussion={discussion} canVote={canVote} />}
        </WholeFileContext.Provider>
      </ViewedContext.Provider>
    </DiscussionContext.Provider>
  )
}

/** Returns the lines of a text; none of a binary file. */
function linesOf(content: Uint8Array): readonly string[] {
  const lines = textOf(content)?.split('\n') ?? []
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

const loadChosenSuggestions = async () =>
  (await import('../conversations/suggestion.tsx')).ChosenSuggestions

/** How many of the changed files the user has viewed. */
function ViewedCount(props: {
  viewed: ViewedFiles | undefined
  files: DiffFiles | undefined
}): VNode | null {
  const { viewed, files } = props
  if (!viewed || !files?.isComplete) return null
  const count = files.files.filter(({ path }) => viewed.stateOf(path) === 'VIEWED').length
  return (
    <>
      {viewed.failure && <FailureNote failure={viewed.failure} />}
      {count > 0 && (
        <p role="status" class="facts">
          {plural(
            files.files.length,
            '{viewed} of {count} file viewed.',
            '{viewed} of {count} files viewed.',
            { viewed: count },
          )}
        </p>
      )}
    </>
  )
}

/** Switches between all changes and those since the last review of the user. */
function SinceReview(props: {
  name: PullName
  discussion: PullDiscussion
  since: string
}): VNode | null {
  const { session } = useApi()
  const { name, discussion, since } = props
  const files = `${repositoryHref(name)}/pulls/${name.index}/files`
  if (since !== '')
    return (
      <p class="note">
        <T
          text="These are the changes since commit {commit}."
          commit={<code>{since.slice(0, 10)}</code>}
        />{' '}
        <a href={files}>{t('Show all changes, to comment on lines.')}</a>
      </p>
    )
  const last = discussion.reviews
    .map(({ review }) => review)
    .filter(({ user, state }) => user?.login === session.user?.username && !SILENT.includes(state))
    .at(-1)
  if (!last || last.commitId === '' || last.commitId === discussion.head) return null
  return (
    <p class="note">
      {t('Commits have arrived since your last review.')}{' '}
      <a href={`${files}?since=${last.commitId}`}>{t('Show the changes since then.')}</a>
    </p>
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
  ['COMMENT', t('Comment @action')],
  ['APPROVED', t('Approve')],
  ['REQUEST_CHANGES', t('Request changes')],
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
        ? plural(
            count,
            '{count} comment waits for the submission. Nobody else sees a pending review.',
            '{count} comments wait for the submission. Nobody else sees a pending review.',
          )
        : t('Choose the number of a line to comment on the line.')}{' '}
      <a href="#review">{t('Go to your review')}</a>
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
      <h3 id="review">{t('Your review')}</h3>
      <form onSubmit={onSubmit(() => submission.run())}>
        {submission.failure && <FailureNote failure={submission.failure} />}
        <label>
          {t(isBodyRequired ? 'Summary' : 'Summary (optional)')}
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
            {t('Submit the review')}
          </button>
          {pending && <Discard discussion={discussion} id={pending.id} />}
        </div>
      </form>
      <p role="status">{sent && t('The review is submitted.')}</p>
    </section>
  )
}

function Verdicts(props: { chosen: Verdict; onChoose: (verdict: Verdict) => void }): VNode {
  const { chosen, onChoose } = props
  return (
    <fieldset>
      <legend>{t('Verdict')}</legend>
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
      action={t('Discard the pending review')}
      question={t('All comments of the pending review are deleted.')}
      act={async () => {
        await of(ReviewService).deleteReview({ ...name, id })
        reload()
      }}
    />
  )
}
