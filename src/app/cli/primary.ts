import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { readConfig, type ServeFlags } from '../config.ts'
import { createLog } from '../log.ts'
import { portOf, sshAddressOf } from '../server/ssh-address.ts'
import { WorkerProcesses } from '../server/worker-processes.ts'
import { print } from './print.ts'

const WORKER_FILE = 'worker-program.js'

/**
 * Returns the bundle of `worker-program.ts`, next to this one (`scripts/setup/bundle.mjs`). The path
 * is that of the command where possible: a link in it may lead to another version at a restart.
 */
function workerProgram(): string {
  const beside = join(dirname(process.argv[1] ?? ''), WORKER_FILE)
  return existsSync(beside) ? beside : fileURLToPath(new URL(WORKER_FILE, import.meta.url))
}

/**
 * Serves by several worker processes until a signal.
 *
 * @throws Error with a message for the operator.
 */
export async function serveByWorkers(flags: ServeFlags): Promise<void> {
  const { listen, ssh, tls, logLevel, workers: count, stopDelayMs, database } = readConfig(flags)
  const log = createLog(logLevel)
  const workers: WorkerProcesses = new WorkerProcesses({
    program: { path: workerProgram(), args: process.argv.slice(2) },
    count,
    listen,
    sshListen: typeof ssh?.listen === 'object' ? ssh.listen : undefined,
    isTls: tls !== undefined,
    isOnSqlite: database === undefined,
    log,
    stopDelayMs,
    onGivenUp: (err) => {
      log.fatal({ err }, 'no worker process can be started')
      workers.kill()
      process.exit(1)
    },
  })
  drainOnSignal(workers, log)
  process.on('SIGHUP', () => {
    // New connections have the host keys at once.
    workers.readHostKeys()
    workers.restart()
  })
  const { url, sshPort } = await workers.start()
  print(`branchline listening on ${url}`)
  const address = sshAddressOf({ listen, ssh }, sshPort ?? portOf(new URL(url)))
  if (address !== undefined) print(`branchline ssh listening on ${address}`)
}

/** Drains all worker processes on the first signal, and ends them at once on the second. */
function drainOnSignal(workers: WorkerProcesses, log: Logger): void {
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) {
      workers.kill()
      process.exit(1)
    }
    stopping = true
    log.info({ signal }, 'stopping all worker processes')
    process.exit((await workers.drain()) ? 0 : 1)
  }
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, stop)
}
