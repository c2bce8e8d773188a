import { Code, ConnectError } from '@connectrpc/connect'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { PAGE } from '../api/all-pages.ts'
import type { Api } from '../api/client.ts'

interface Branches {
  readonly owner: string
  readonly repo: string
  readonly base: string
  /** `branch`, `owner:branch` or `owner/repo:branch`. */
  readonly head: string
}

/** Finds the open pull request between two branches; null if there is none. */
export async function findOpenPull(
  { of }: Api,
  branches: Branches,
  signal: AbortSignal,
): Promise<PullRequest | null> {
  const { owner, repo, base, head } = branches
  const list = { owner, repo, baseBranch: base, state: 'open', limit: PAGE }
  const { pullRequests, total } = await of(PullRequestService).listPullRequests(list, { signal })
  // The list answers without an error, but only where it is short.
  if (total <= pullRequests.length)
    return pullRequests.find((pull) => isFrom(pull, `${owner}/${repo}`, head)) ?? null
  try {
    const pull = await of(PullRequestService).getPullRequestByBranches(
      { owner, repo, base, head },
      { signal },
    )
    return pull.state === 'open' ? pull : null
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return null
    throw error
  }
}

function isFrom({ head }: PullRequest, base: string, text: string): boolean {
  const end = text.indexOf(':')
  const where = end < 0 ? base : text.slice(0, end)
  const { fullName = '', owner } = head?.repo ?? {}
  const name = where.includes('/') ? fullName : (owner?.login ?? '')
  return head?.ref === text.slice(end + 1) && name.toLowerCase() === where.toLowerCase()
}
