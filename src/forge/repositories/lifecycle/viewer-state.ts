import type { SignedIn } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import { starExists } from '../activity/stars.rows.ts'
import { findRepositorySubscription } from '../activity/subscriptions.rows.ts'
import type { ReposApp } from '../ports.ts'

/** Choices of a user about a repository. */
export interface ViewerState {
  readonly starred: boolean
  readonly watched: boolean
  readonly ignored: boolean
}

/**
 * Returns what the caller has decided about a repository.
 *
 * @throws as `openRepository`
 */
export async function getViewerState(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<ViewerState> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const { id: userId } = caller.user
  const subscription = await findRepositorySubscription(app.db, repository.id, userId)
  return {
    starred: await starExists(app.db, userId, repository.id),
    watched: subscription?.mode === 'WATCHING',
    ignored: subscription?.mode === 'IGNORED',
  }
}
