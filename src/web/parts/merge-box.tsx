import type { VNode } from 'preact'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from './failure-note.tsx'
import { Field, fieldOf, onSubmit } from './field.tsx'
import { useAction } from './load.tsx'
import { MERGE_STYLES } from './merge-styles.ts'
import { Time } from './time.tsx'

interface MergeProps {
  readonly repository: Repository
  readonly name: { readonly owner: string; readonly repo: string; readonly index: bigint }
  readonly pull: PullRequest
  readonly onMerged: () => void
}

/** How to merge a pull request, or why that is not possible. */
export function MergeBox(props: MergeProps): VNode {
  const { pull, repository } = props
  const obstacle = obstacleTo(pull, repository)
  return (
    <section class="box" aria-labelledby="merge">
      <h3 id="merge">Merge</h3>
      {pull.autoMerge && <ScheduledMerge {...props} />}
      {obstacle === undefined ? <MergeForm {...props} /> : <p>{obstacle}</p>}
      {pull.merged && (
        <p>
          Merged by {pull.mergedBy?.login} <Time at={pull.mergedAt} />.
        </p>
      )}
    </section>
  )
}

/** Returns why nobody, or not this user, can merge now, as far as the page knows. */
function obstacleTo(pull: PullRequest, { permissions, archived }: Repository): string | undefined {
  if (pull.merged) return 'The changes are on the target branch.'
  if (pull.state === 'closed') return 'The pull request is closed.'
  if (archived) return 'The repository is archived.'
  if (pull.draft) return 'The title marks the work as unfinished. Remove the mark to merge.'
  if (!permissions?.push) return 'Somebody who may write to the repository can merge.'
  return undefined
}

/** The merge styles of a repository, with the names of the API. */
function stylesOf(repository: Repository): readonly (readonly [style: string, text: string])[] {
  return MERGE_STYLES.filter(([, , setting]) => repository[setting]).map(([style, text]) => [
    style,
    text,
  ])
}

function MergeForm({ repository, name, pull, onMerged }: MergeProps): VNode {
  const { of } = useApi()
  const merge = useAction(async (form: HTMLFormElement) => {
    await of(PullMergeService).mergePullRequest({
      ...name,
      do: fieldOf(form, 'style'),
      mergeTitleField: fieldOf(form, 'title'),
      mergeMessageField: fieldOf(form, 'message'),
      // What arrives after this page was shown is not merged unseen.
      headCommitId: pull.head?.sha ?? '',
      mergeWhenChecksSucceed: fieldOf(form, 'later') === 'on',
      deleteBranchAfterMerge: fieldOf(form, 'delete') === 'on',
    })
    onMerged()
  })
  return (
    <form onSubmit={onSubmit(merge.run)}>
      {!pull.mergeable && (
        <p class="note">
          The server has found a conflict, or is still looking for one. If merging is refused, the
          reason appears here.
        </p>
      )}
      {merge.failure && <FailureNote failure={merge.failure} />}
      <label>
        Style
        <select name="style" defaultValue={repository.defaultMergeStyle}>
          {stylesOf(repository).map(([style, text]) => (
            <option key={style} value={style} selected={style === repository.defaultMergeStyle}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <Field label="Title of the commit (empty: the usual one)" name="title" />
      <label>
        Message of the commit (empty: the usual one)
        <textarea name="message" rows={3} />
      </label>
      <label class="choice">
        <input
          type="checkbox"
          name="delete"
          defaultChecked={repository.defaultDeleteBranchAfterMerge}
        />{' '}
        Delete the branch afterwards
      </label>
      <label class="choice">
        <input type="checkbox" name="later" /> Merge as soon as the checks succeed
      </label>
      <button class="main" type="submit" disabled={merge.isRunning}>
        Merge
      </button>
    </form>
  )
}

function ScheduledMerge({ name, pull, onMerged }: MergeProps): VNode {
  const { of, session } = useApi()
  const cancel = useAction(async () => {
    await of(PullMergeService).cancelAutoMerge(name)
    onMerged()
  })
  return (
    <>
      <p>{pull.autoMerge?.user?.login} has scheduled a merge for when the checks have succeeded.</p>
      {cancel.failure && <FailureNote failure={cancel.failure} />}
      {session.user && (
        <button type="button" disabled={cancel.isRunning} onClick={() => cancel.run()}>
          Cancel the scheduled merge
        </button>
      )}
    </>
  )
}
