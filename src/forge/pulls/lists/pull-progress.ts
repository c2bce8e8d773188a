import { listStatesOfCommits } from '../../repositories/commits/commit-statuses.rows.ts'
import { combineStatuses } from '../../repositories/commits/commit-statuses.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { CommitStatus } from '../../repositories/schema.ts'
import { listOfficialVotes, listReviewRequests } from '../review/reviews.rows.ts'
import type { Review } from '../schema.ts'
import type { PullProgress, PullView } from './pull-views.ts'

/**
 * Returns pull requests with what they wait for. Three queries answer for all of them. A caller who may
 * not read the code of a repository sees no checks. That a review is requested is no secret, also where
 * the team is one.
 */
export async function withProgress(app: ReposApp, views: readonly PullView[]): Promise<PullView[]> {
  const ids = views.map(({ pull }) => pull.id)
  const votes = await listOfficialVotes(app.db, ids)
  const requests = await listReviewRequests(app.db, ids)
  const isAbout =
    ({ pull }: PullView) =>
    ({ pull_request_id }: Pick<Review, 'pull_request_id'>) =>
      pull_request_id === pull.id
  const commits = views.flatMap(({ pull, base }) =>
    base.repository.units.code === 'none' ? [] : [headOf(pull)],
  )
  const statuses = await listStatesOfCommits(app.db, commits)
  return views.map((view) => {
    const { pull, base } = view
    const canReadCode = base.repository.units.code !== 'none'
    return {
      ...view,
      progress: {
        review: reviewState(votes.filter(isAbout(view)), requests.some(isAbout(view))),
        checks: checksState(
          statuses.filter((status) => canReadCode && keyOf(status) === keyOf(headOf(pull))),
        ),
      },
    }
  })
}

function headOf({ repository_id, head_commit: commit_id }: PullView['pull']) {
  return { repository_id, commit_id }
}

function keyOf({ repository_id, commit_id }: ReturnType<typeof headOf>): string {
  return `${repository_id} ${commit_id}`
}

function reviewState(
  votes: readonly Pick<Review, 'state'>[],
  isRequested: boolean,
): PullProgress['review'] {
  if (votes.some(({ state }) => state === 'REQUEST_CHANGES')) return 'changes_requested'
  if (votes.length > 0) return 'approved'
  return isRequested ? 'requested' : ''
}

function checksState(statuses: readonly Pick<CommitStatus, 'state'>[]): PullProgress['checks'] {
  return statuses.length === 0 ? '' : combineStatuses(new Set(statuses.map(({ state }) => state)))
}
