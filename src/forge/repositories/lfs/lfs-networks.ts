import type { Caller } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import { openRepositories } from '../access/permissions.ts'
import { findOrigin } from '../content/fork-networks.ts'
import { listNetwork } from '../lifecycle/forks.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'

/**
 * Repositories of a network of forks in which objects are looked for, the oldest first. The original
 * repository is the oldest one.
 */
const MAX_REPOSITORIES = 1_000

/**
 * Returns the ids of the repositories in the fork network of a repository whose code a caller may
 * read, without the repository itself. The time that this takes does not depend on any object.
 */
export async function readableNetwork(
  app: ReposApp,
  caller: Caller,
  repository: Repository,
): Promise<number[]> {
  if (repository.parent_id === null && repository.forks_count === 0) return []
  const origin = await findOrigin(app.db, repository)
  const network = await listNetwork(app.db, origin.id, MAX_REPOSITORIES)
  const opened = await openRepositories(
    app,
    caller,
    network.filter(({ id }) => id !== repository.id),
  )
  return opened.filter(({ access }) => suffices(access, 'read')).map(({ repository: { id } }) => id)
}
