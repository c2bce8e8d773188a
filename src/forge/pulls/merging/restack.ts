import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import { checkWritable } from '../../repositories/access/permissions.ts'
import { gitIdentity } from '../../repositories/commits/commit-authors.ts'
import { rebaseOnto } from '../../repositories/commits/merging.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { type OpenPull, openPull, reopenPull } from '../heads/open-pulls.ts'
import type { PullRequest } from '../schema.ts'
import { listOpenInside } from './restack.rows.ts'

/** Pull requests of one stack. Each may take a rebase of many commits. */
const MAX_STACK = 50

/** A head branch that a restack has moved. */
export interface MovedHead {
  readonly number: number
  readonly branch: string
  readonly from: string
  readonly to: string
}

/**
 * Rebases the pull requests that are stacked on one, at any height, in one update of all their
 * branches, as a push of the caller. Each loses the commits of the former head of the one below, and
 * follows the present head. Above a merged pull request, the stack follows the base branch.
 *
 * @returns the heads that have moved, from the lowest.
 * @throws REBASE_CONFLICT, after which nothing has moved.
 */
export async function restackPulls(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<MovedHead[]> {
  const open = await openPull(app, caller, name, 'poster or write')
  return withPullLock(app, open.pull.id, async () =>
    restackLocked(app, caller, await reopenPull(app, open)),
  )
}

/** A pull request, what it is to follow, and the former commit of that. */
interface Step {
  readonly pull: PullRequest
  readonly onto: string
  /** Undefined if it is not known. Commits of the same patch are left out all the same. */
  readonly upstream: string | undefined
}

async function restackLocked(
  app: ReposApp,
  caller: SignedIn,
  { repository, pull }: OpenPull,
): Promise<MovedHead[]> {
  checkWritable(repository)
  const moved = await planRestack(app, caller, pull, await firstSteps(app, pull))
  const updates = moved.map(updateOf)
  if (updates.length > 0) await pushUpdates(app, caller, repository.id, updates)
  return moved
}

/**
 * Returns the updates that rebase the stack above a merged pull request onto its base, for one push
 * with the deletion of its head branch. A push of its own after the deletion would come too late:
 * until then, the pull requests above propose the commits of the merged one too, and lose their
 * approvals.
 *
 * @throws as `restackPulls`.
 */
export async function movesAbove(
  app: ReposApp,
  caller: SignedIn,
  pull: PullRequest,
): Promise<RefUpdate[]> {
  const { repository_id: id, head_repository_id, head_branch, base_branch, head_commit } = pull
  if (head_repository_id !== id) return []
  const onto = await readRef(app.git, id, `refs/heads/${base_branch}`)
  if (onto === undefined) return []
  const steps = await stepsAbove(app, id, head_branch, { onto, upstream: head_commit })
  return (await planRestack(app, caller, pull, steps)).map(updateOf)
}

function updateOf({ branch, from, to }: MovedHead): RefUpdate {
  return { name: `refs/heads/${branch}`, from, to }
}

/** Rebases what is above a pull request, and returns how the branches are to move. */
async function planRestack(
  app: ReposApp,
  caller: SignedIn,
  pull: PullRequest,
  steps: Step[],
): Promise<MovedHead[]> {
  const { repository_id: id } = pull
  const moved: MovedHead[] = []
  // A branch moves once, and never the branch below the stack, which may be the head of a pull request
  // in the other direction.
  const seen = new Set([pull.base_branch, pull.head_branch])
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const { number, head_branch: branch } = step.pull
    if (seen.has(branch)) continue
    seen.add(branch)
    if (seen.size > MAX_STACK + 2)
      throw new DomainError('STACK_TOO_LARGE', { limit: String(MAX_STACK) })
    const from = await readRef(app.git, id, `refs/heads/${branch}`)
    if (from === undefined) continue
    const to = await rebased(app, caller, id, step, from).catch((error: unknown) => {
      throw namingPull(error, number)
    })
    if (to !== from) moved.push({ number, branch, from, to })
    steps.push(...(await stepsAbove(app, id, branch, { onto: to, upstream: from })))
  }
  return moved
}

/** Adds the number of the pull request to a conflict. */
function namingPull(error: unknown, number: number): unknown {
  return error instanceof DomainError && error.reason === 'REBASE_CONFLICT'
    ? new DomainError(error.reason, { ...error.metadata, number: String(number) })
    : error
}

async function firstSteps(app: ReposApp, pull: PullRequest): Promise<Step[]> {
  const { repository_id: id, head_repository_id, head_branch, base_branch, head_commit } = pull
  if (pull.state === 'OPEN') {
    if (head_repository_id !== id) return []
    return stepsAbove(app, id, head_branch, { onto: head_commit, upstream: undefined })
  }
  const onto = await readRef(app.git, id, `refs/heads/${base_branch}`)
  if (pull.state !== 'MERGED' || onto === undefined) return []
  const candidates = await stepsAbove(app, id, base_branch, { onto, upstream: head_commit })
  const above: Step[] = []
  for (const step of candidates)
    if (await contains(app, id, step.pull.head_commit, head_commit)) above.push(step)
  return above
}

async function stepsAbove(
  app: ReposApp,
  repositoryId: number,
  branch: string,
  below: Omit<Step, 'pull'>,
): Promise<Step[]> {
  const pulls = await listOpenInside(app.db, repositoryId, branch, MAX_STACK + 1)
  return pulls.map((pull) => ({ pull, ...below }))
}

/** Returns whether a commit is an ancestor of a head. */
async function contains(
  app: ReposApp,
  repositoryId: number,
  head: string,
  ancestor: string,
): Promise<boolean> {
  if (head === ancestor) return false
  const tips = await reading(independentCommits(app.git, repositoryId, [head, ancestor]))
  return !tips.has(ancestor)
}

async function rebased(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { onto, upstream }: Step,
  head: string,
): Promise<string> {
  if (await contains(app, repositoryId, head, onto)) return head
  const committer = gitIdentity(app, caller)
  return rebaseOnto(app, repositoryId, {
    onto,
    head,
    ...(upstream !== undefined && { upstream }),
    committer,
    style: 'rebase',
  })
}
