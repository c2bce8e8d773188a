import { transaction } from '../../../platform/database/database.ts'
import { measureRepository } from '../../../platform/git/repositories/repository-size.ts'
import type { Worker } from '../../core/coordination.ts'
import { updateRepository } from '../lifecycle/repositories.rows.ts'
import { checkMaintenance } from '../maintenance/maintenance-checks.ts'
import type { ReposApp, SizeMeasurement } from '../ports.ts'
import { warnOwner } from '../quotas/quota-warnings.ts'
import { findSizeState, listUnmeasured } from '../quotas/quotas.rows.ts'

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

/** The size of a repository whose folder is missing. */
const NOTHING = { bytes: 0, ownedBytes: 0, looseBytes: 0 }

/** Unmeasured repositories that are read at a time. */
const BATCH = 100

/**
 * Starts measuring the repositories that were not measured before: all of them after an upgrade, and
 * those of a server that was killed.
 */
export function startMeasuring(app: ReposApp): Worker {
  const stopping = new AbortController()
  const { signal } = stopping
  app.background.run('measure repositories', async () => {
    for (let last = 0; !signal.aborted; ) {
      const unmeasured = await listUnmeasured(app.db, { afterId: last, limit: BATCH })
      for (const { id } of unmeasured) {
        if (signal.aborted) return
        await measureNow(app, id)
        last = id
      }
      if (unmeasured.length < BATCH) return
    }
  })
  return { stop: () => stopping.abort() }
}

/** Measurements of a repository that is pushed to meanwhile. */
const MAX_TRIES = 3

/** Measures a repository so that quotas know its size. */
export async function measureNow(app: ReposApp, repositoryId: number): Promise<void> {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1)
      if (await storeSize(app, repositoryId)) return
    await storeSize(app, repositoryId, true)
  } catch (err) {
    // One unreadable folder must not end the quotas of all others.
    app.log.error({ err, repository: repositoryId }, 'a repository could not be measured')
    await transaction(app.db, (tx) => updateRepository(tx, repositoryId, { size_stale: 0 }))
  }
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

/**
 * Measures a repository and stores its size. While pushes are in progress, what quotas count stays:
 * a measurement can have seen a part of them. The record of each leads to a further measurement.
 *
 * @param isForced whether what quotas count is stored in any case.
 * @returns whether it was stored.
 */
export async function storeSize(
  app: ReposApp,
  repositoryId: number,
  isForced = false,
): Promise<boolean> {
  const before = await findSizeState(app.db, repositoryId)
  if (!before) return true
  const measured = (await measureRepository(app.git, repositoryId)) ?? NOTHING
  const size_kib = Math.ceil(measured.bytes / 1024)
  const loose_bytes = measured.looseBytes
  const isStored = await transaction(app.db, async (tx) => {
    const present = await findSizeState(tx, repositoryId)
    if (!present) return true
    const isSteady =
      before.reserved === 0 && present.reserved === 0 && before.owned_bytes === present.owned_bytes
    const owned = isSteady || isForced ? measured.ownedBytes : undefined
    const isKnown =
      present.size_kib === size_kib &&
      present.loose_bytes === loose_bytes &&
      (owned === undefined || (present.size_stale === 0 && present.owned_bytes === owned))
    if (!isKnown)
      await updateRepository(tx, repositoryId, {
        size_kib,
        loose_bytes,
        ...(owned !== undefined && { owned_bytes: owned, size_stale: 0 }),
      })
    return owned !== undefined
  })
  if (isStored) await warnOwner(app, before.owner_id)
  return isStored
}
