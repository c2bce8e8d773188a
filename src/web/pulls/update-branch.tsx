import type { VNode } from 'preact'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { useAction } from '../components/load.tsx'
import type { PullName } from './reviews.ts'

interface UpdateProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** Brings the new commits of the target branch to the branch of a pull request. */
export function UpdateBranch({ repository, name, pull, onChange }: UpdateProps): VNode | null {
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
      <p>{base?.ref} has commits that the pull request does not have.</p>
      {update.failure && <FailureNote failure={update.failure} />}
      {canPush && (
        <p class="buttons">
          {repository.allowMergeUpdate && (
            <button type="button" disabled={update.isRunning} onClick={() => update.run('merge')}>
              Update the branch by a merge
            </button>
          )}
          {repository.allowRebaseUpdate && (
            <button type="button" disabled={update.isRunning} onClick={() => update.run('rebase')}>
              Update the branch by a rebase
            </button>
          )}
        </p>
      )}
    </>
  )
}
