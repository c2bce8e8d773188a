import type { Caller } from '../../core/access.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { type PullView, viewPull } from '../lists/pull-views.ts'
import { awaitCheck } from '../merging/mergeability.ts'
import type { PullRequest } from '../schema.ts'

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
