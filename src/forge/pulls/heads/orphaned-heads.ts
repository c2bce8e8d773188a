import type { ReposApp } from '../../repositories/ports.ts'
import { syncRefIndex } from '../../repositories/refs/ref-index.ts'
import { isHeadOfPullsElsewhere } from './pull-heads.rows.ts'
import { rescueHeadsFrom } from './pull-heads.ts'

/**
 * Moves the head objects of open pull requests from a repository to their base repositories before
 * the repository is deleted. The pull requests remain open, without a head branch.
 */
export async function keepHeadsOf(app: ReposApp, repositoryId: number): Promise<void> {
  if (!(await isHeadOfPullsElsewhere(app.db, repositoryId))) return
  // A repository that cannot be read can still be deleted.
  await syncRefIndex(app, repositoryId).catch((err: unknown) =>
    app.log.warn(
      { err, repository: repositoryId },
      'the refs of a repository that is being deleted cannot be read',
    ),
  )
  await rescueHeadsFrom(app, repositoryId)
}
