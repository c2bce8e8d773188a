import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { isConnected } from '../../../platform/git/maintenance/prune.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { findRemovalTime } from './maintenance.rows.ts'

/**
 * Checks that a prune has not removed objects that an update of refs needs, since the update began.
 * The caller has recorded the pending update before: a prune that removes objects later looks at
 * that record. Costs a read of one row when there was no prune lately.
 *
 * @param quarantine folder of the objects of a push.
 * @throws OBJECTS_REMOVED
 */
export async function checkObjectsRemain(
  app: ReposApp,
  repositoryId: number,
  updates: readonly RefUpdate[],
  quarantine?: string,
): Promise<void> {
  const found = await findRemovalTime(app.db, repositoryId)
  if ((found?.removal_until ?? 0) <= app.clock.now()) return
  const ids = updates.flatMap(({ to }) => to ?? [])
  if (ids.length === 0 || (await isConnected(app.git, repositoryId, ids, quarantine))) return
  throw new DomainError('OBJECTS_REMOVED')
}
