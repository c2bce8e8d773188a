import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { readConfig, type ServeFlags } from '../config.ts'
import { createLog } from '../log.ts'
import { portOf, sshAddressOf } from '../server/ssh-address.ts'
import { WorkerProcesses } from '../server/worker-processes.ts'
import { print } from './print.ts'

/** The bundle of `worker-program.ts`, next to this one (`scripts/setup/bundle.mjs`). */
const WORKER_PROGRAM = fileURLToPath(new URL('./worker-program.js', import.meta.url))

/**
 * Serves by several worker processes until a signal.
 *
 * @throws Error with a message for the operator.
 */
export async function serveByWorkers(flags: ServeFlags): Promise<void> {
  const { listen, ssh, tls, logLevel, workers: count, stopDelayMs, database } = readConfig(flags)
  const log = createLog(logLevel)
  const workers: WorkerProcesses = new WorkerProcesses({
    program: { path: WORKER_PROGRAM, args: process.argv.slice(2) },
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
  reactToHangUp(workers, ssh !== undefined && ssh.listen !== 'sshd')
  const { url, sshPort } = await workers.start()
  print(`branchline listening on ${url}`)
  const address = sshAddressOf({ listen, ssh }, sshPort ?? portOf(new URL(url)))
  if (address !== undefined) print(`branchline ssh listening on ${address}`)
}

/**
 * Restarts the worker processes on SIGHUP if their program was replaced since they were started.
 * Otherwise they read the host keys of SSH again. Without SSH the signal then ends this process, as by
 * default.
 */
function reactToHangUp(workers: WorkerProcesses, hasSsh: boolean): void {
  let started = programVersion()
  const react = () => {
    const version = programVersion()
    if (version !== started) {
      started = version
      void workers.restart()
    } else if (hasSsh) {
      workers.readHostKeys()
    } else {
      process.off('SIGHUP', react)
      process.kill(process.pid, 'SIGHUP')
    }
  }
  process.on('SIGHUP', react)
}

/** Returns a text that differs when the program of the worker processes was replaced. */
function programVersion(): string {
  const stats = statSync(WORKER_PROGRAM, { throwIfNoEntry: false })
  return stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`
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
