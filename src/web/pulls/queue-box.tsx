import type { VNode } from 'preact'
import type { Branch } from '#gen/branchline/v1/branch_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { MergeQueueEntry, MergeQueueReason } from '#gen/branchline/v1/merge_queue_pb.ts'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { ActionButton, Confirmed } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { plural, T, t } from '../language/texts.tsx'
import { queueHref } from './queue-address.ts'
import type { PullName } from './reviews.ts'

interface QueueProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  /** The target branch. */
  readonly branch: Branch
  /** Why the user cannot merge, whatever happens to the pull request. */
  readonly final: string | undefined
  readonly onChange: () => void
}

/** The place of a pull request in the merge queue of its target branch, or how to enter the queue. */
export function QueueBox(props: QueueProps): VNode {
  const { name, pull, final, onChange } = props
  const api = useApi()
  const { session } = api
  const base = pull.base?.ref ?? ''
  const entry = pull.mergeQueueEntry
  const last = useLoad(
    (signal) => readLastEntry(api, pull, name, signal),
    [entry?.id, entry?.state],
  )
  const mayLeave = final === undefined || entry?.addedBy?.login === session.user?.username
  return (
    <>
      <p>
        <T
          text="{branch} has a {queue}, which merges once the required checks have succeeded together with the pull requests before."
          branch={base}
          queue={<a href={queueHref(name, base)}>{t('merge queue')}</a>}
        />
      </p>
      {entry ? (
        <InQueue name={name} entry={entry} mayLeave={mayLeave} onChange={onChange} />
      ) : (
        <>
          <Show of={last}>{(left) => left?.reason && <LeftBecause reason={left.reason} />}</Show>
          {final === undefined && <EnterQueue {...props} hasLeft={last.value !== undefined} />}
        </>
      )}
      {final === undefined && props.branch.userCanBypassMergeQueue && <MergeAtOnce {...props} />}
    </>
  )
}

interface StackQueueProps extends Omit<QueueProps, 'branch' | 'final'> {
  /** The branch of the queue, which the lowest of the stack goes into. */
  readonly base: string
}

/** The place of a pull request in the queue that takes its stack, or how the stack enters the queue. */
export function StackQueueBox(props: StackQueueProps): VNode {
  const { of, session } = useApi()
  const { repository, name, pull, base, onChange } = props
  const entry = pull.mergeQueueEntry
  const own = pull.stack.findIndex(({ number }) => number === pull.number)
  const stack = pull.stack.slice(0, Math.max(own, 0))
  const below = stack.map(({ number }) => `#${number}`).join(', ')
  const branch = useLoad(
    (signal) =>
      of(BranchService).getBranch({ owner: name.owner, repo: name.repo, branch: base }, { signal }),
    [base],
  )
  const last = useLoad((signal) => readLastEntry({ of }, pull, name, signal), [entry?.id])
  return (
    <Show of={branch}>
      {(target) => {
        const mayEnter = repository.permissions?.push && !repository.archived && target.userCanMerge
        return (
          <>
            <p>
              <T
                text="{branch} has a {queue}, which takes a stack in its order."
                branch={base}
                queue={<a href={queueHref(name, base)}>{t('merge queue')}</a>}
              />
              {below !== '' &&
                ` ${t('This pull request enters together with {numbers}, and leaves if one of those leaves.', { numbers: below })}`}
            </p>
            {entry ? (
              <InQueue
                name={name}
                entry={entry}
                mayLeave={mayEnter || entry.addedBy?.login === session.user?.username}
                onChange={onChange}
              />
            ) : (
              <>
                <Show of={last}>
                  {(left) => left?.reason && <LeftBecause reason={left.reason} />}
                </Show>
                {mayEnter && (
                  <EnterQueue {...props} hasLeft={last.value !== undefined} isStack={true} />
                )}
              </>
            )}
          </>
        )
      }}
    </Show>
  )
}

interface InQueueProps {
  readonly name: PullName
  readonly entry: MergeQueueEntry
  readonly mayLeave: boolean
  readonly onChange: () => void
}

function InQueue({ name, entry, mayLeave, onChange }: InQueueProps): VNode {
  const { of, session } = useApi()
  return (
    <>
      <p role="status">{queuePlaceOf(entry)}</p>
      {session.user && mayLeave && (
        <ActionButton
          text={t('Take out of the queue')}
          act={async () => {
            await of(MergeQueueService).dequeuePullRequest(name)
            onChange()
          }}
        />
      )}
    </>
  )
}

/** A merge past the queue, for what cannot wait. */
function MergeAtOnce({ repository, name, pull, onChange }: QueueProps): VNode {
  const { of } = useApi()
  const merge = async () => {
    await of(PullMergeService).mergePullRequest({
      ...name,
      do: repository.defaultMergeStyle,
      forceMerge: true,
      headCommitId: pull.head?.sha ?? '',
    })
    onChange()
  }
  return (
    <p class="buttons">
      <Confirmed
        action={t('Merge at once')}
        question={t(
          'The merge does not wait for checks or approvals. All pull requests in the queue of {branch} are then tried again.',
          { branch: pull.base?.ref ?? '' },
        )}
        act={merge}
      />
    </p>
  )
}

interface EnterProps extends Omit<QueueProps, 'branch' | 'final'> {
  readonly hasLeft: boolean
  /** Whether those below enter, too. */
  readonly isStack?: boolean
}

function EnterQueue(props: EnterProps): VNode {
  const { of } = useApi()
  const { repository, name, pull, hasLeft, isStack, onChange } = props
  const what = isStack ? 'Add the stack to the merge queue' : 'Add to the merge queue'
  const enter = async (jump: boolean) => {
    await of(MergeQueueService).enqueuePullRequest({
      ...name,
      jump,
      // Commits that arrive after this page was shown are not merged unseen.
      headCommitId: pull.head?.sha ?? '',
    })
    onChange()
  }
  return (
    <div class="buttons">
      <ActionButton text={t(hasLeft ? `${what} again` : what)} act={() => enter(false)} />
      {!isStack && !pull.autoMerge && (
        <ActionButton
          text={t('Merge when ready')}
          act={async () => {
            await of(PullMergeService).mergePullRequest({
              ...name,
              headCommitId: pull.head?.sha ?? '',
              mergeWhenChecksSucceed: true,
            })
            onChange()
          }}
        />
      )}
      {repository.permissions?.admin && (
        <ActionButton text={t('Add to the front of the queue')} act={() => enter(true)} />
      )}
    </div>
  )
}

function LeftBecause({ reason }: { reason: MergeQueueReason }): VNode {
  const { code, text, files, contexts } = reason
  return (
    <div class="note">
      <p>
        <strong>{t('The pull request has left the queue: {reason}.', { reason: text })}</strong>
      </p>
      {files.length > 0 && <p>{files.join(', ')}</p>}
      {contexts.length > 0 && <p>{t('Checks: {names}', { names: contexts.join(', ') })}</p>}
      <p class="reason">{t('Reason: {reason}', { reason: code })}</p>
    </div>
  )
}

/** Returns the place of an entry in words. */
export function queuePlaceOf(entry: MergeQueueEntry): string {
  const { state, estimatedMinutes: minutes, stackedOn, addedBy } = entry
  const position = String(entry.position)
  const place =
    minutes > 0n
      ? plural(
          minutes,
          'Position {position}, in about {count} minute',
          'Position {position}, in about {count} minutes',
          { position },
        )
      : t('Position {position}', { position })
  return [
    t('{place}: {state}.', { place, state: DOING[state] ?? state }),
    ...(stackedOn === undefined ? [] : [t('Stands on #{number}.', { number: String(stackedOn) })]),
    t('Added by {who}.', { who: addedBy?.login ?? '' }),
  ].join(' ')
}

/** What the entries of a queue do, by their state. */
const DOING: Readonly<Record<string, string>> = {
  QUEUED: t('waits for its turn'),
  BUILDING: t('waits for checks'),
  READY: t('has succeeded, and waits for the pull requests before'),
}

/** Returns the entry of a pull request that has left the queue; undefined if there is none. */
async function readLastEntry(
  { of }: Pick<Api, 'of'>,
  pull: PullRequest,
  name: PullName,
  signal: AbortSignal,
): Promise<MergeQueueEntry | undefined> {
  if (!pull.hasLeftMergeQueue) return undefined
  return of(MergeQueueService).getMergeQueueEntry(name, { signal })
}
