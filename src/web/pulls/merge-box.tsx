import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import {
  type MergeMessage as MergeMessageOfStyle,
  PullMergeService,
} from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Field, fieldOf, onSubmit } from '../components/field.tsx'
import { Show, useAction, useLoad } from '../components/load.tsx'
import { Time } from '../components/time.tsx'
import { finalObstacle, obstaclesOf, readTarget } from './merge-obstacles.ts'
import { MERGE_STYLES } from './merge-styles.ts'
import type { PullName, ReviewWithThreads } from './reviews.ts'
import { UpdateBranch } from './update-branch.tsx'

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
  const { pull, repository, name, reviews, version } = props
  const target = useLoad(
    (signal) => readTarget(api, name, pull, signal),
    [pull.base?.ref, pull.head?.sha, version],
  )
  return (
    <section class="box" aria-labelledby="merge">
      <h3 id="merge">Merge</h3>
      <Show of={target}>
        {(value) => {
          const final = finalObstacle(pull, repository, value)
          const obstacles = obstaclesOf(pull, value, reviews)
          return (
            <>
              {pull.autoMerge && <ScheduledMerge {...props} canMerge={final === undefined} />}
              {pull.state === 'open' &&
                obstacles.map(({ message, reason, advice }) => (
                  <div key={reason} class="note">
                    <p>
                      <strong>{message}</strong> {advice}
                    </p>
                    <p class="reason">Reason: {reason}</p>
                  </div>
                ))}
              <UpdateBranch {...props} />
              {final !== undefined && <p>{final}</p>}
              {final === undefined && canAsk(pull, obstacles.length === 0) && (
                <MergeForm {...props} isReady={obstacles.length === 0} />
              )}
            </>
          )
        }}
      </Show>
      {pull.merged && (
        <p>
          Merged by {pull.mergedBy?.login} <Time at={pull.mergedAt} />.
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
  [PullRequest_Mergeability.CHECKING]: 'The server is looking for conflicts.',
  [PullRequest_Mergeability.ERROR]:
    'The check for conflicts failed. If a merge is refused, its reason appears here.',
  [PullRequest_Mergeability.EMPTY]:
    'The target branch has all these changes. A merge adds the commits only.',
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
  const styles = stylesOf(repository)
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
        Style
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
        Delete the branch afterwards
      </label>
      {isReady && !pull.autoMerge && (
        <label class="choice">
          <input type="checkbox" name="later" /> Merge as soon as the checks succeed
        </label>
      )}
      <p class="buttons">
        <button class="main" type="submit" disabled={merge.isRunning}>
          {isReady ? 'Merge' : 'Merge as soon as nothing is missing'}
        </button>
      </p>
    </form>
  )
}

/** The message that the server would write, which the user can change. */
function MergeMessage({ proposed }: { proposed: MergeMessageOfStyle | undefined }): VNode {
  if (!proposed?.title) return <p class="hint">The commits keep their messages.</p>
  return (
    <>
      <Field label="Title of the commit" name="title" defaultValue={proposed.title} required />
      <label>
        Message of the commit
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
        {who} has scheduled a merge ({pull.autoMerge?.style}) for when the checks have succeeded.
      </p>
      {cancel.failure && <FailureNote failure={cancel.failure} />}
      {session.user && (canMerge || session.user.username === who) && (
        <button type="button" disabled={cancel.isRunning} onClick={() => cancel.run()}>
          Cancel the scheduled merge
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
        Delete the branch {ref}
      </button>
    </p>
  )
}
