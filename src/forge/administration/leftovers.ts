import { allRepositoryIds } from '../../platform/database/maintenance.ts'
import { sweepLeftovers } from '../../platform/git/repositories/leftovers.ts'
import { findDamage } from '../repositories/maintenance/maintenance-checks.ts'
import { sweepLimbo, sweepReplacedFiles } from '../repositories/maintenance/prunes.ts'
import type { ReposApp } from '../repositories/ports.ts'

/**
 * The files of a killed process remain for an hour at most. A sweep lists two folders per
 * repository, and reads the files of the repositories whose hour of the week it is.
 */
const SWEEP_INTERVAL_MS = 60 * 60_000

/** The periodic removal of files that killed processes left in repositories. */
interface LeftoverSweeps {
  /** Starts no more sweeps, and aborts a running one. */
  stop(): void
}

/** Starts a sweep now, and another one every hour. */
export function startLeftoverSweeps(app: ReposApp): LeftoverSweeps {
  const stopping = new AbortController()
  const sweep = () =>
    app.background.run('sweep leftovers', async () => {
      const removed = await sweepLeftovers(app.git, app.clock.now(), stopping.signal)
      if (removed > 0)
        app.log.warn({ removed }, 'removed files that killed processes left in repositories')
      await sweepLimbo(app)
      await sweepReplacedFiles(app)
      await findDamage(app, await allRepositoryIds(app.db), stopping.signal)
    })
  sweep()
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS)
  return {
    stop() {
      clearInterval(timer)
      stopping.abort()
    },
  }
}
