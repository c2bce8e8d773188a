import { Code, ConnectError } from '@connectrpc/connect'
import type { Branch } from '#gen/branchline/v1/branch_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { CommitStatus } from '#gen/branchline/v1/commit_status_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import type { Api } from '../api/client.ts'
import { adviceFor } from '../api/failure.ts'
import type { PullName, ReviewWithThreads } from './reviews.ts'

/** Why a merge would be refused now, in the words of the refusal. */
export interface Obstacle {
  readonly message: string
  readonly reason: string
  readonly advice: string
}

/** Requirements of the target branch. */
export interface Target {
  /** Absent if the target branch does not exist. */
  readonly branch: Branch | undefined
  /** The statuses of the head, if the target branch requires any. */
  readonly statuses: readonly CommitStatus[]
}

/** Reads what the target branch of a pull request demands. */
export async function readTarget(
  { of }: Api,
  name: PullName,
  { base, head }: PullRequest,
  signal: AbortSignal,
): Promise<Target> {
  const { owner, repo } = name
  if (!base?.sha) return { branch: undefined, statuses: [] }
  const branch = await of(BranchService)
    .getBranch({ owner, repo, branch: base.ref }, { signal })
    .catch((error: unknown) => {
      if (ConnectError.from(error).code === Code.NotFound) return undefined
      throw error
    })
  if (!branch?.enableStatusCheck) return { branch, statuses: [] }
  const request = { owner, repo, ref: head?.sha ?? '' }
  const { statuses } = await of(CommitStatusService).getCombinedStatus(request, { signal })
  return { branch, statuses }
}

/** Returns why nobody, or not this user, can merge, whatever happens to the pull request. */
export function finalObstacle(
  pull: PullRequest,
  { permissions, archived }: Repository,
  { branch }: Target,
): string | undefined {
  if (pull.merged) return 'The changes are on the target branch.'
  if (pull.state === 'closed') return 'The pull request is closed.'
  if (archived) return 'The repository is archived.'
  if (!permissions?.push) return 'Somebody who may write to the repository can merge.'
  if (!branch) return 'The target branch does not exist.'
  if (!branch.userCanMerge) return `A rule of ${branch.name} says who may merge. You may not.`
  return undefined
}

/** Returns why a merge would be refused now, as far as the API tells. */
export function obstaclesOf(
  pull: PullRequest,
  { branch, statuses }: Target,
  reviews: readonly ReviewWithThreads[],
): Obstacle[] {
  const obstacles: Obstacle[] = []
  const add = (reason: string, message: string) =>
    obstacles.push({ reason, message, advice: adviceFor(reason) })
  if (pull.draft) add('PULL_REQUEST_WORK_IN_PROGRESS', 'Work in progress PRs cannot be merged.')
  if (pull.mergeability === PullRequest_Mergeability.CONFLICT)
    add('MERGE_CONFLICT', 'The changes conflict with those of the target branch.')
  if (pull.mergeability === PullRequest_Mergeability.ANCESTOR)
    add('PULL_REQUEST_NOT_MERGEABLE', 'The target branch has all commits already.')
  const needed = Number(branch?.requiredApprovals ?? 0n)
  const given = approvalsOf(reviews)
  if (given < needed)
    add('APPROVALS_MISSING', `Does not have enough approvals: ${given} of ${needed}.`)
  if (branch?.enableStatusCheck) {
    const missing = missingChecks(branch.statusCheckContexts, statuses)
    if (missing.length > 0)
      add(
        'STATUS_CHECKS_MISSING',
        `Not all required status checks successful: ${missing.join(', ')}.`,
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
      ? ['no system has reported a check']
      : statuses.filter((status) => !isFine(status)).map(({ context }) => context)
  return required
    .filter((context) => !/[*?[{\\]/.test(context))
    .filter((context) => !statuses.some((status) => status.context === context && isFine(status)))
}
