import type { Logger } from 'pino'
import { type Coordination, LOCK_LIMITS } from '../../forge/core/coordination.ts'
import { createOnce } from '../../platform/concurrency/once.ts'
import { createSharedExclusive } from '../../platform/database/coordination/locks.ts'
import { runOnOneServer } from '../../platform/database/coordination/workers.ts'
import type { Shared } from '../data-folder.ts'

/** Coordinates work among the servers of a PostgreSQL database. */
export function createSharedCoordination(shared: Shared, log: Logger): Coordination {
  const { session, locks } = shared
  return {
    exclusive: createSharedExclusive(locks, 'domain', LOCK_LIMITS),
    once: createOnce(),
    async lease() {
      await session.ready()
      return session.lease()
    },
    get serverId() {
      return session.serverId
    },
    runningServers: (serverIds) => session.running(serverIds),
    onOneServer: (name, start) =>
      runOnOneServer(shared, name, start, (err) =>
        log.error({ err, worker: name }, 'a worker failed'),
      ),
  }
}
