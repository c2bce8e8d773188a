import { transaction } from '../../../platform/database/database.ts'
import { damagedFiles } from '../../../platform/git/maintenance/derived-files.ts'
import { readState } from '../../../platform/git/maintenance/state.ts'
import type { ReposApp } from '../ports.ts'
import { dueSteps, isDueWhenQuiet } from './due-steps.ts'
import * as rows from './maintenance.rows.ts'

/** Time without a change after which a repository is quiet. */
export const QUIET_MS = 24 * 60 * 60_000

/**
 * Reads the state of a repository and lets the worker look at the repository when a step is due, or
 * when one would be due without further pushes. Takes some calls of the file system, and one query
 * when there is something to pack.
 */
export async function checkMaintenance(app: ReposApp, repositoryId: number): Promise<void> {
  if (!app.settings.maintenance) return
  const state = await readState(app.git, repositoryId)
  if (!state) return
  const isDue = dueSteps(state, false).length > 0
  if (!isDue && !isDueWhenQuiet(state)) return
  const row = await rows.findMaintenance(app.db, repositoryId)
  const now = app.clock.now()
  const known = row?.check_time ?? null
  if ((row?.pause_time ?? 0) > now) return
  // One check at the end of a quiet time is enough, however many pushes there are until then.
  if (!isDue && known !== null && known <= now + QUIET_MS) return
  const check_time = isDue ? dueSince(known, now) : now + QUIET_MS
  await transaction(app.db, (tx) => rows.putMaintenance(tx, repositoryId, { check_time }))
  if (isDue) app.signals.maintenance.notify()
}

/** Each repository has its hour of the week, so that a week's reads are spread. */
const HOUR_MS = 60 * 60_000
const HOURS_OF_WEEK = 7 * 24

/**
 * Searches the repositories of the present hour of the week for damaged files that Git derives from
 * others, and lets the worker remove and write these. Steps search too, but a repository without
 * changes has no steps.
 *
 * @param ids of all repositories.
 */
export async function findDamage(
  app: ReposApp,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  if (!app.settings.maintenance) return
  const hour = Math.floor(app.clock.now() / HOUR_MS) % HOURS_OF_WEEK
  for (const id of ids.filter((each) => each % HOURS_OF_WEEK === hour)) {
    if (signal.aborted) return
    if ((await damagedFiles(app.git, id)).length === 0) continue
    const { check_time = null } = (await rows.findMaintenance(app.db, id)) ?? {}
    const changes = { check_time: dueSince(check_time, app.clock.now()) }
    await transaction(app.db, (tx) => rows.putMaintenance(tx, id, changes))
    app.signals.maintenance.notify()
  }
}

/**
 * Returns the time since when a repository is due. Always another value than the known one, so that
 * the end of a running piece does not clear this check.
 */
export function dueSince(known: number | null, now: number): number {
  return known !== null && known <= now ? known + 1 : now
}
