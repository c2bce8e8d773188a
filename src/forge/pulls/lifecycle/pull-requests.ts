import { type Look, noteSeen } from '../../conversations/seen.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName, RepositoryName } from '../../core/names.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { openHead, parseHeadName } from '../heads/compared-branches.ts'
import { openPull, openPulls, openPullWithin } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestBetween, findPullRequestById } from '../heads/pull-requests.rows.ts'
import { type PullView, viewPull } from '../lists/pull-views.ts'
import { awaitCheck, isKnown, startCheck } from '../merging/mergeability.ts'
import type { PullRequest } from '../schema.ts'

/** Returns one pull request by its number. */
export async function getPull(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  look: Look,
): Promise<PullView> {
  const { pull, ...open } = await openPull(app, caller, name, 'read')
  return readPull(app, caller, open, pull, look)
}

/** The branches of a pull request. */
interface BranchPair {
  readonly base: string
  readonly head: string
}

/**
 * Returns one pull request by its branches: the open one or, if none is open, the latest.
 *
 * @param base name of a branch of the repository.
 * @param head `branch`, `owner:branch` or `owner/repository:branch`.
 */
export async function getPullBetween(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { base, head }: BranchPair,
  look: Look,
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

/** Returns one pull request of a repository that is open already. */
export async function getPullWithin(
  app: ReposApp,
  caller: Caller,
  repository: OpenRepository,
  number: number,
  look: Look,
): Promise<PullView> {
  const { pull, ...open } = await openPullWithin(app, caller, repository, number, 'read')
  return readPull(app, caller, open, pull, look)
}

/** Shows a pull request, starts its mergeability check, and marks it as seen. */
async function readPull(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pull: PullRequest,
  look: Look,
): Promise<PullView> {
  const view = await viewPull(app, caller, open, pull)
  if (!isKnown(view.mergeability)) startCheck(app, pull)
  if (view.isUnread && look === 'reads') noteSeen(app, caller, pull)
  return view
}

/**
 * Returns the view of a pull request that was just created or changed, with its ref updated and its
 * mergeability checked, if that is quick. A failure of either is repaired later.
 */
export async function viewWritten(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pull: PullRequest,
): Promise<PullView> {
  if (pull.state === 'OPEN') {
    await prepareHead(app, pull).catch((err: unknown) => {
      app.log.error(
        { err, pullRequest: pull.id },
        'the ref of a pull request could not be brought up to date',
      )
      app.signals.pullHeads.notify()
    })
    await awaitCheck(app, pull)
  }
  return viewPull(app, caller, open, (await findPullRequestById(app.db, pull.id)) ?? pull)
}
