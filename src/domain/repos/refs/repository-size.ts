import { measureRepository } from '../../../git/repositories/repository-size.ts'
import { transaction } from '../../../storage/database/database.ts'
import { findRepositoryById, updateRepository } from '../../../storage/repos/repositories.ts'
import type { Db } from '../../../storage/schema/schema.ts'
import type { ReposApp } from '../ports.ts'

/**
 * How long a repository is not measured again that was measured: a branch may move many times a
 * second.
 */
const REST_MS = 5_000

/** A repository that is being measured, or was a moment ago. */
interface Measurement {
  /** Whether it has changed since that began. */
  isStale: boolean
  /** Ends the rest; undefined while it is being measured. */
  rest: NodeJS.Timeout | undefined
}

const measurements = new WeakMap<Db, Map<number, Measurement>>()

function measurementsIn({ db }: ReposApp): Map<number, Measurement> {
  let all = measurements.get(db)
  if (!all) {
    all = new Map()
    measurements.set(db, all)
  }
  return all
}

/**
 * Measures a repository in the background and stores its size, which nobody waits for. Asked again
 * meanwhile, or soon after, it does so once more, and not more often.
 */
export function measureLater(app: ReposApp, repositoryId: number): void {
  const all = measurementsIn(app)
  const present = all.get(repositoryId)
  if (present) {
    present.isStale = true
    return
  }
  const measurement: Measurement = { isStale: false, rest: undefined }
  all.set(repositoryId, measurement)
  app.background.run('measure repository', async () => {
    try {
      await measure(app, repositoryId)
    } finally {
      // Who ends the server sees to those that rest.
      measurement.rest = setTimeout(() => endRest(app, repositoryId, measurement), REST_MS).unref()
    }
  })
}

function endRest(app: ReposApp, repositoryId: number, { isStale, rest }: Measurement): void {
  clearTimeout(rest)
  measurementsIn(app).delete(repositoryId)
  if (isStale) measureLater(app, repositoryId)
}

/**
 * Measures what has changed since it was measured, before the server ends. For the time when
 * nothing changes any more.
 */
export async function finishMeasuring(app: ReposApp): Promise<void> {
  for (const all = measurementsIn(app); all.size > 0; ) {
    await app.background.settled()
    // What is stale begins anew, and is waited for in the next round.
    for (const [repositoryId, measurement] of [...all]) endRest(app, repositoryId, measurement)
  }
}

async function measure(app: ReposApp, repositoryId: number): Promise<void> {
  const size_kib = await measureRepository(app.git, repositoryId)
  const repository = await findRepositoryById(app.db, repositoryId)
  if (size_kib === undefined || !repository || repository.size_kib === size_kib) return
  await transaction(app.db, (tx) => updateRepository(tx, repositoryId, { size_kib }))
}
