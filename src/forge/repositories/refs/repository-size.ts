import { transaction } from '../../../platform/database/database.ts'
import { measureRepository } from '../../../platform/git/repositories/repository-size.ts'
import { findRepositoryById, updateRepository } from '../lifecycle/repositories.rows.ts'
import { checkMaintenance } from '../maintenance/maintenance-checks.ts'
import type { ReposApp, SizeMeasurement } from '../ports.ts'

/**
 * The pause after each measurement of a repository, since a branch can move many times a second.
 */
const REST_MS = 5_000

/**
 * Measures a repository in the background, stores its size and checks whether it needs maintenance.
 * Calls during a measurement, and
 * during the pause after it, cause one more measurement together.
 */
export function measureLater(app: ReposApp, repositoryId: number): void {
  const all = app.sizeMeasurements
  const present = all.get(repositoryId)
  if (present) {
    present.isStale = true
    return
  }
  const measurement: SizeMeasurement = { isStale: false, rest: undefined }
  all.set(repositoryId, measurement)
  app.background.run('measure repository', async () => {
    try {
      await storeSize(app, repositoryId)
      await checkMaintenance(app, repositoryId)
    } finally {
      // `finishMeasuring` ends the pause early.
      measurement.rest = setTimeout(() => endRest(app, repositoryId, measurement), REST_MS).unref()
    }
  })
}

function endRest(app: ReposApp, repositoryId: number, { isStale, rest }: SizeMeasurement): void {
  clearTimeout(rest)
  app.sizeMeasurements.delete(repositoryId)
  if (isStale) measureLater(app, repositoryId)
}

/**
 * Measures all repositories that have changed since their last measurement. Runs when the server
 * stops, after the last change.
 */
export async function finishMeasuring(app: ReposApp): Promise<void> {
  for (const all = app.sizeMeasurements; all.size > 0; ) {
    await app.background.settled()
    // A stale repository is measured again. The next round waits for that.
    for (const [repositoryId, measurement] of [...all]) endRest(app, repositoryId, measurement)
  }
}

/** Measures a repository and stores its size. */
export async function storeSize(app: ReposApp, repositoryId: number): Promise<void> {
  const size_kib = await measureRepository(app.git, repositoryId)
  const repository = await findRepositoryById(app.db, repositoryId)
  if (size_kib === undefined || !repository || repository.size_kib === size_kib) return
  await transaction(app.db, (tx) => updateRepository(tx, repositoryId, { size_kib }))
}
