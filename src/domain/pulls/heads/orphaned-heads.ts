import { isHeadOfPullsElsewhere } from '../../../storage/pulls/pull-heads.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { syncRefIndex } from '../../repos/refs/ref-index.ts'
import { rescueHeadsFrom } from './pull-heads.ts'

/**
 * Takes what other repositories are to pull from one to where it stays, as the refs there are now:
 * before it is deleted. Its pull requests stay open, and are of nobody's branch then.
 */
export async function keepHeadsOf(app: ReposApp, repositoryId: number): Promise<void> {
  if (!(await isHeadOfPullsElsewhere(app.db, repositoryId))) return
  // What cannot be read can be deleted all the same.
  await syncRefIndex(app, repositoryId).catch((err: unknown) =>
    app.log.warn(
      { err, repository: repositoryId },
      'the refs of a repository that is being deleted cannot be read',
    ),
  )
  await rescueHeadsFrom(app, repositoryId)
}
