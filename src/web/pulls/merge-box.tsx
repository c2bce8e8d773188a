import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Branch } from '#gen/branchline/v1/branch_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { CommitStatus } from '#gen/branchline/v1/commit_status_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import {
  type MergeMessage as MergeMessageOfStyle,
  PullMergeService,
} from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { adviceFor } from '../api/advice.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { type Api, useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { MERGE_STYLES } from './merge-styles.ts'
import type { PullName, ReviewWithThreads } from './reviews.ts'

const loadQueueBox = async () => (await import('./queue-box.tsx')).QueueBox
const loadStackQueue = async () => (await import('./queue-box.tsx')).StackQueueBox

interface MergeProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** How to merge a pull request, or why that is not possible. */
export function MergeBox(
  props: MergeProps & { reviews: readonly ReviewWithThreads[]; version: number },
): VNode {
  const api = useApi()
  const { pull, repository, name, reviews, version, onChange } = props
  const target = useLoad(
    (signal) => readTarget(api, name, pull, signal),
    [pull.base?.ref, pull.head?.sha, version],
  )
  return (
    <section class="box" aria-labelledby="merge">
      <h3 id="merge">{t('Merge @noun')}</h3>
      <Show of={target}>
        {(value) => {
          const final = finalObstacle(pull, repository, value)
          const obstacles = obstaclesOf(pull, value, reviews)
          const { branch } = value
          const stackQueue = pull.mergeQueueEntry?.base || pull.stackQueue
          const isStacked = stackQueue !== '' && stackQueue !== pull.base?.ref
          return (
            <>
              {pull.autoMerge && <ScheduledMerge {...props} canMerge={final === undefined} />}
              {pull.state === 'open' &&
                obstacles.map(({ message, reason, advice }) => (
                  <div key={reason} class="note">
                    <p>
                      <strong>{message}</strong> {advice}
                    </p>
                    <p class="reason">{t('Reason: {reason}', { reason })}</p>
                  </div>
                ))}
              <UpdateBranch {...props} />
              {final !== undefined && <p>{final}</p>}
              {branch?.enableMergeQueue && pull.state === 'open' && (
                <Later
                  load={loadQueueBox}
                  with={{ repository, name, pull, branch, final, onChange }}
                />
              )}
              {isStacked && pull.state === 'open' && (
                <Later
                  load={loadStackQueue}
                  with={{ repository, name, pull, base: stackQueue, onChange }}
                />
              )}
              {final === undefined &&
                !branch?.enableMergeQueue &&
                !pull.mergeQueueEntry &&
                canAsk(pull, obstacles.length === 0) && (
                  <MergeForm {...props} isReady={obstacles.length === 0} />
                )}
            </>
          )
        }}
      </Show>
      {pull.merged && (
        <p>
          <T
            text="Merged by {who} {time}."
            who={pull.mergedBy?.login}
            time={<Time at={pull.mergedAt} />}
          />
        </p>
      )}
      {pull.state === 'closed' && <DeleteBranch {...props} />}
    </section>
  )
}

/** Obstacles that only new commits remove. */
const NEEDS_COMMITS: readonly PullRequest_Mergeability[] = [
  PullRequest_Mergeability.CONFLICT,
  PullRequest_Mergeability.ANCESTOR,
]

/** Returns whether a merge can happen, or be scheduled. The user sees what is missing. */
function canAsk({ draft, autoMerge, mergeability }: PullRequest, isReady: boolean): boolean {
  return !draft && !NEEDS_COMMITS.includes(mergeability) && (isReady || !autoMerge)
}

/** Results of the check that are no obstacle. */
const CHECK_NOTES: Readonly<Partial<Record<PullRequest_Mergeability, string>>> = {
  [PullRequest_Mergeability.CHECKING]: t('The server is looking for conflicts.'),
  [PullRequest_Mergeability.ERROR]: t(
    'The check for conflicts failed. If a merge is refused, its reason appears here.',
  ),
  [PullRequest_Mergeability.EMPTY]: t(
    'The target branch has all these changes. A merge adds the commits only.',
  ),
}

/** The merge styles of a repository, with the names of the API. */
function stylesOf(repository: Repository): readonly (readonly [style: string, text: string])[] {
  return MERGE_STYLES.filter(([, , setting]) => repository[setting]).map(([style, text]) => [
    style,
    text,
  ])
}

function MergeForm(props: MergeProps & { isReady: boolean }): VNode {
  const { repository, name, pull, onChange, isReady } = props
  const { of } = useApi()
  // Those of the first view: with others, the message that somebody types would be lost. The server
  // says why it refuses a style.
  const [styles] = useState(() => stylesOf(repository))
  const [chosen, setStyle] = useState(repository.defaultMergeStyle)
  const note = CHECK_NOTES[pull.mergeability]
  const style = styles.some(([known]) => known === chosen) ? chosen : (styles[0]?.[0] ?? '')
  const messages = useLoad(
    (signal) => of(PullMergeService).listMergeMessages(name, { signal }),
    [pull.head?.sha, pull.title, pull.body],
  )
  const merge = useAction(async (form: HTMLFormElement) => {
    await of(PullMergeService).mergePullRequest({
      ...name,
      do: style,
      mergeTitleField: fieldOf(form, 'title'),
      mergeMessageField: fieldOf(form, 'message'),
      // Commits that arrive after this page was shown are not merged unseen.
      headCommitId: pull.head?.sha ?? '',
      mergeWhenChecksSucceed: !isReady || fieldOf(form, 'later') === 'on',
      deleteBranchAfterMerge: fieldOf(form, 'delete') === 'on',
    })
    onChange()
  })
  return (
    <form onSubmit={onSubmit(merge.run)}>
      {note !== undefined && <p class="note">{note}</p>}
      {merge.failure && <FailureNote failure={merge.failure} />}
      <label>
        {t('Style')}
        <select value={style} onChange={({ currentTarget }) => setStyle(currentTarget.value)}>
          {styles.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <Show of={messages}>
        {(value) => (
          <MergeMessage
            key={`${style} ${value.headSha}`}
            proposed={value.messages.find((message) => message.style === style)}
          />
        )}
      </Show>
      <label class="choice">
        <input
          type="checkbox"
          name="delete"
          defaultChecked={repository.defaultDeleteBranchAfterMerge}
        />{' '}
        {t('Delete the branch afterwards')}
      </label>
      {isReady && !pull.autoMerge && (
        <label class="choice">
          <input type="checkbox" name="later" /> {t('Merge as soon as the checks succeed')}
        </label>
      )}
      <p class="buttons">
        <button class="main" type="submit" disabled={merge.isRunning}>
          {isReady ? t('Merge @action') : t('Merge as soon as nothing is missing')}
        </button>
      </p>
    </form>
  )
}

/** The message that the server would write, which the user can change. */
function MergeMessage({ proposed }: { proposed: MergeMessageOfStyle | undefined }): VNode {
  if (!proposed?.title) return <p class="hint">{t('The commits keep their messages.')}</p>
  return (
    <>
      <Field label={t('Title of the commit')} name="title" defaultValue={proposed.title} required />
      <label>
        {t('Message of the commit')}
        <textarea name="message" rows={4} defaultValue={proposed.message} />
      </label>
    </>
  )
}

function ScheduledMerge(props: MergeProps & { canMerge: boolean }): VNode {
  const { of, session } = useApi()
  const { name, pull, onChange, canMerge } = props
  const cancel = useAction(async () => {
    await of(PullMergeService).cancelAutoMerge(name)
    onChange()
  })
  const who = pull.autoMerge?.user?.login
  return (
    <>
      <p>
        <T
          text="{who} has scheduled a merge ({style}) for when the checks have succeeded."
          who={who}
          style={pull.autoMerge?.style}
        />
      </p>
      {cancel.failure && <FailureNote failure={cancel.failure} />}
      {session.user && (canMerge || session.user.username === who) && (
        <button type="button" disabled={cancel.isRunning} onClick={() => cancel.run()}>
          {t('Cancel the scheduled merge')}
        </button>
      )}
    </>
  )
}

/** Deletes the head branch of a pull request that needs the branch no more. */
function DeleteBranch({ pull, onChange }: MergeProps): VNode | null {
  const { of } = useApi()
  const { ref = '', repo } = pull.head ?? {}
  const deletion = useAction(async () => {
    await of(BranchService).deleteBranch({
      owner: repo?.owner?.login ?? '',
      repo: repo?.name ?? '',
      branch: ref,
    })
    onChange()
  })
  const isGone = ref.startsWith('refs/pull/')
  if (!repo?.permissions?.push || repo.archived || isGone || ref === repo.defaultBranch) return null
  return (
    <p>
      {deletion.failure && <FailureNote failure={deletion.failure} />}
      <button type="button" disabled={deletion.isRunning} onClick={() => deletion.run()}>
        {t('Delete the branch {name}', { name: ref })}
      </button>
    </p>
  )
}

/** Why a merge would be refused now, in the words of the refusal. */
interface Obstacle {
  readonly message: string
  readonly reason: string
  readonly advice: string
}

/** Requirements of the target branch. */
interface Target {
  /** Absent if the target branch does not exist. */
  readonly branch: Branch | undefined
  /** The statuses of the head, if the target branch requires any of the head. */
  readonly statuses: readonly CommitStatus[]
}

/** Reads what the target branch of a pull request demands. */
async function readTarget(
  { of }: Api,
  name: PullName,
  { base, head }: PullRequest,
  signal: AbortSignal,
): Promise<Target> {
  const { owner, repo } = name
  if (!base?.sha) return { branch: undefined, statuses: [] }
  const branch = await found(
    of(BranchService).getBranch({ owner, repo, branch: base.ref }, { signal }),
  )
  // A merge queue asks other statuses.
  if (!branch?.enableStatusCheck || branch.enableMergeQueue) return { branch, statuses: [] }
  const request = { owner, repo, ref: head?.sha ?? '' }
  const { statuses } = await of(CommitStatusService).getCombinedStatus(request, { signal })
  return { branch, statuses }
}

/** Returns what a call returns; undefined for what does not exist. */
async function found<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  return call.catch((error: unknown) => {
    if (ConnectError.from(error).code === Code.NotFound) return undefined
    throw error
  })
}

/** Returns why nobody, or not this user, can merge, whatever happens to the pull request. */
function finalObstacle(
  pull: PullRequest,
  { permissions, archived }: Repository,
  { branch }: Target,
): string | undefined {
  if (pull.merged) return t('The changes are on the target branch.')
  if (pull.state === 'closed') return t('The pull request is closed.')
  if (archived) return t('The repository is archived.')
  if (!permissions?.push) return t('Somebody who may write to the repository can merge.')
  if (!branch) return t('The target branch does not exist.')
  if (!branch.userCanMerge)
    return t('A rule of {branch} says who may merge. You may not.', { branch: branch.name })
  return undefined
}

/** Returns why a merge would be refused now, as far as the API tells. */
function obstaclesOf(
  pull: PullRequest,
  { branch, statuses }: Target,
  reviews: readonly ReviewWithThreads[],
): Obstacle[] {
  const obstacles: Obstacle[] = []
  const add = (reason: string, message: string) =>
    obstacles.push({ reason, message, advice: adviceFor(reason) })
  if (pull.draft) add('PULL_REQUEST_WORK_IN_PROGRESS', t('Work in progress PRs cannot be merged.'))
  if (pull.mergeability === PullRequest_Mergeability.CONFLICT)
    add('MERGE_CONFLICT', t('The changes conflict with those of the target branch.'))
  if (pull.mergeability === PullRequest_Mergeability.ANCESTOR)
    add('PULL_REQUEST_NOT_MERGEABLE', t('The target branch has all commits already.'))
  const needed = Number(branch?.requiredApprovals ?? 0n)
  const given = approvalsOf(reviews)
  if (given < needed)
    add(
      'APPROVALS_MISSING',
      t('Does not have enough approvals: {given} of {needed}.', { given, needed }),
    )
  if (branch?.enableStatusCheck && !branch.enableMergeQueue) {
    const missing = missingChecks(branch.statusCheckContexts, statuses)
    if (missing.length > 0)
      add(
        'STATUS_CHECKS_MISSING',
        t('Not all required status checks successful: {names}.', { names: missing.join(', ') }),
      )
  }
  return obstacles
}

/** Counts the reviewers whose latest vote is an approval that counts. */
function approvalsOf(reviews: readonly ReviewWithThreads[]): number {
  const votes = new Map<string, boolean>()
  for (const { review } of reviews) {
    const { state, user, official, dismissed } = review
    if (user && (state === 'APPROVED' || state === 'REQUEST_CHANGES'))
      votes.set(user.login, state === 'APPROVED' && official && !dismissed)
  }
  return [...votes.values()].filter((isApproval) => isApproval).length
}

/** A required context may be a pattern, of which the page knows no more than its name. */
function missingChecks(required: readonly string[], statuses: readonly CommitStatus[]): string[] {
  const isFine = ({ status }: CommitStatus) => status === 'success' || status === 'skipped'
  if (required.length === 0)
    return statuses.length === 0
      ? [t('no system has reported a check')]
      : statuses.filter((status) => !isFine(status)).map(({ context }) => context)
  return required
    .filter((context) => !/[*?[{\\]/.test(context))
    .filter((context) => !statuses.some((status) => status.context === context && isFine(status)))
}

interface UpdateProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** Brings the new commits of the target branch to the branch of a pull request. */
function UpdateBranch({ repository, name, pull, onChange }: UpdateProps): VNode | null {
  const { of } = useApi()
  const update = useAction(async (style: string) => {
    await of(PullMergeService).updatePullRequestHead({ ...name, style })
    onChange()
  })
  const { mergeBase, base, head } = pull
  const isBehind = mergeBase !== '' && base?.sha !== '' && base?.sha !== mergeBase
  if (pull.state !== 'open' || !isBehind) return null
  const canPush = head?.repo?.permissions?.push === true && !head.repo.archived
  return (
    <>
      <p>
        <T text="{branch} has commits that the pull request does not have." branch={base?.ref} />
      </p>
      {update.failure && <FailureNote failure={update.failure} />}
      {canPush && (
        <p class="buttons">
          {repository.allowMergeUpdate && (
            <button type="button" disabled={update.isRunning} onClick={() => update.run('merge')}>
              {t('Update the branch by a merge')}
            </button>
          )}
          {repository.allowRebaseUpdate && (
            <button type="button" disabled={update.isRunning} onClick={() => update.run('rebase')}>
              {t('Update the branch by a rebase')}
            </button>
          )}
        </p>
      )}
    </>
  )
}
