import { markSeenUpTo } from '../../../storage/pulls/pull-participants.ts'
import { findPullRequestBetween } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import { type Caller, seesPublicDataOnly } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName, RepositoryName } from '../../core/names.ts'
import type { OpenRepository } from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { openPull, openPulls } from '../access/open-pulls.ts'
import { openHead, parseHeadName } from '../heads/head-names.ts'
import { type PullView, viewPull } from '../listing/pull-views.ts'
import { isKnown, startCheck } from '../merging/mergeability.ts'

/** Whether somebody reads a pull request, or asks what an answer would be like. */
export type PullLook = 'reads' | 'asks'

/**
 * One pull request by its number.
 *
 * @throws as `openPull` where reading is needed.
 */
export async function getPull(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  look: PullLook,
): Promise<PullView> {
  const { pull, ...open } = await openPull(app, caller, name, 'read')
  return readPull(app, caller, open, pull, look)
}

/** The branches of a pull request. */
export interface BranchPair {
  readonly base: string
  readonly head: string
}

/**
 * One pull request by its branches: of several the one that is open or, if none is, the latest.
 *
 * @param base name of a branch of the repository.
 * @param head `branch`, `owner:branch` or `owner/repository:branch`.
 * @throws as `openPulls`; PULL_REQUEST_NOT_FOUND, also for a head in a repository that the caller
 *   may not read.
 */
export async function getPullBetween(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { base, head }: BranchPair,
  look: PullLook,
): Promise<PullView> {
  const open = await openPulls(app, caller, name)
  const headName = parseHeadName(head)
  const from = await openHead(app, caller, open, headName)
  const pull =
    from &&
    (await findPullRequestBetween(app.db, {
      head_repository_id: from.repository.id,
      head_branch: headName.branch,
      repository_id: open.repository.id,
      base_branch: base,
    }))
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  return readPull(app, caller, open, pull, look)
}

/**
 * A pull request that somebody looks at, who will want to know whether it can be merged, and has
 * seen it from then on.
 */
async function readPull(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pull: PullRequest,
  look: PullLook,
): Promise<PullView> {
  const view = await viewPull(app, caller, open, pull)
  if (!isKnown(view.mergeability)) startCheck(app, pull)
  if (view.isUnread && look === 'reads') noteSeen(app, caller, pull)
  return view
}

/**
 * Notes that a caller has seen what they are shown: a change that comes meanwhile they have not.
 * What works for them with a token that sees public data only is not taken for them.
 */
function noteSeen(app: ReposApp, caller: Caller, { id, change_count }: PullRequest): void {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return
  app.background.run('mark a pull request as seen', () =>
    markSeenUpTo(app.db, id, caller.user.id, change_count),
  )
}
