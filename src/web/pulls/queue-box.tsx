import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import type { MergeQueueEntry, MergeQueueReason } from '#gen/branchline/v1/merge_queue_pb.ts'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { counted } from '../components/formats.tsx'
import { ActionButton } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { queueHref } from './queue-address.ts'
import type { PullName } from './reviews.ts'

interface QueueProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  /** Why the user cannot merge, whatever happens to the pull request. */
  readonly final: string | undefined
  readonly onChange: () => void
}

/** The place of a pull request in the merge queue of its target branch, or how to enter the queue. */
export function QueueBox(props: QueueProps): VNode {
  const { name, pull, final, onChange } = props
  const api = useApi()
  const { of, session } = api
  const base = pull.base?.ref ?? ''
  const entry = pull.mergeQueueEntry
  // The queue may have ended the entry since.
  const last = useLoad((signal) => readEntry(api, name, signal), [entry?.id, entry?.state])
  const mayLeave = final === undefined || entry?.addedBy?.login === session.user?.username
  return (
    <>
      <p>
        {base} has a <a href={queueHref(name, base)}>merge queue</a>, which merges once the required
        checks have succeeded together with the pull requests before.
      </p>
      {entry ? (
        <>
          <p role="status">{queuePlaceOf(entry)}</p>
          {session.user && mayLeave && (
            <ActionButton
              text="Take out of the queue"
              act={async () => {
                await of(MergeQueueService).dequeuePullRequest(name)
                onChange()
              }}
            />
          )}
        </>
      ) : (
        <>
          <Show of={last}>{(left) => left?.reason && <LeftBecause reason={left.reason} />}</Show>
          {final === undefined && <EnterQueue {...props} hasLeft={last.value !== undefined} />}
        </>
      )}
    </>
  )
}

function EnterQueue(props: QueueProps & { hasLeft: boolean }): VNode {
  const { of } = useApi()
  const { repository, name, pull, hasLeft, onChange } = props
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
      <ActionButton
        text={hasLeft ? 'Add to the merge queue again' : 'Add to the merge queue'}
        act={() => enter(false)}
      />
      {!pull.autoMerge && (
        <ActionButton
          text="Merge when ready"
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
        <ActionButton text="Add to the front of the queue" act={() => enter(true)} />
      )}
    </div>
  )
}

function LeftBecause({ reason }: { reason: MergeQueueReason }): VNode {
  const { code, text, files, contexts } = reason
  return (
    <div class="note">
      <p>
        <strong>The pull request has left the queue: {text}.</strong>
      </p>
      {files.length > 0 && <p>{files.join(', ')}</p>}
      {contexts.length > 0 && <p>Checks: {contexts.join(', ')}</p>}
      <p class="reason">Reason: {code}</p>
    </div>
  )
}

/** Returns the place of an entry in words. */
export function queuePlaceOf(entry: MergeQueueEntry): string {
  const { state, position, estimatedMinutes: minutes, addedBy } = entry
  const doing: Readonly<Record<string, string>> = {
    QUEUED: 'waits for its turn',
    BUILDING: 'waits for checks',
    READY: 'has succeeded, and waits for the pull requests before',
  }
  const time = minutes > 0n ? `, in about ${counted(minutes, 'minute')}` : ''
  return `Position ${position}${time}: ${doing[state] ?? state}. Added by ${addedBy?.login}.`
}

/** Returns the entry of a pull request, or the last one; undefined if there was none. */
async function readEntry(
  { of }: Api,
  name: PullName,
  signal: AbortSignal,
): Promise<MergeQueueEntry | undefined> {
  return of(MergeQueueService)
    .getMergeQueueEntry(name, { signal })
    .catch((error: unknown) => {
      if (ConnectError.from(error).code === Code.NotFound) return undefined
      throw error
    })
}
