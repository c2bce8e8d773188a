import { sweepLeftovers } from '../../git/repositories/leftovers.ts'
import type { ReposApp } from '../repos/ports.ts'

/**
 * What a killed process left lies around for an hour at most, and two folders of each repository
 * are listed for that.
 */
const SWEEP_INTERVAL_MS = 60 * 60_000

/** Removes what killed processes have left in repositories, now and from time to time. */
export interface LeftoverSweeps {
  /** No more sweeps; one that is under way ends soon. */
  stop(): void
}

/** Starts sweeping: at once, and then from time to time. */
export function startLeftoverSweeps(app: ReposApp): LeftoverSweeps {
  const stopping = new AbortController()
  const sweep = () =>
    app.background.run('sweep leftovers', async () => {
      const removed = await sweepLeftovers(app.git, app.clock.now(), stopping.signal)
      if (removed > 0)
        app.log.warn({ removed }, 'what killed processes left in repositories was removed')
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
