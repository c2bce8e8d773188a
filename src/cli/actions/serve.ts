import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { readConfig, type ServeFlags } from '../../config.ts'
import { ProcessSpawner } from '../../git/processes/process-spawner.ts'
import { createLog } from '../../log.ts'
import { type Server, startServer } from '../../server/server.ts'
import { print } from '../print.ts'

/** The bundle of the process spawner, next to the bundled server (`scripts/setup/bundle.mjs`). */
const PROCESS_SPAWNER = fileURLToPath(new URL('./process-spawner.js', import.meta.url))

/**
 * Time for calls in flight to finish after SIGTERM. Service managers commonly send SIGKILL after 30
 * seconds.
 */
const SHUTDOWN_GRACE_MS = 20_000

/** Serves until a signal. */
export async function serve(flags: ServeFlags): Promise<void> {
  const config = readConfig(flags)
  const log = createLog(config.logLevel)
  const spawner = new ProcessSpawner(PROCESS_SPAWNER, (reason) =>
    log.warn({ reason }, 'the process spawner has ended; the server starts Git processes itself'),
  )
  const server = await startServer(config, log, { spawner }).catch((error: unknown) => {
    spawner.stop()
    throw error
  })
  // A signal may follow as soon as the line below is printed.
  stopOnSignal(server, log)
  print(`branchline listening on ${server.url}`)
}

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']

/** Drains the server and exits 0 on the first signal, and exits at once on the second. */
function stopOnSignal(server: Server, log: Logger): void {
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'finishing the calls in flight')
    server.close(SHUTDOWN_GRACE_MS).then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, 'the shutdown failed')
        process.exit(1)
      },
    )
  }
  for (const name of STOP_SIGNALS) process.on(name, stop)
}
