import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { ProcessSpawner } from '../../../platform/git/processes/process-spawner.ts'
import { readConfig, type ServeFlags } from '../../config.ts'
import { createLog, createSharedLog } from '../../log.ts'
import { PrimaryProcess } from '../../server/primary-process.ts'
import { type Server, startServer } from '../../server/server.ts'
import { print } from '../print.ts'
import { explained } from './explained.ts'

/** The bundle of the process spawner, next to the bundled server (`scripts/setup/bundle.mjs`). */
const PROCESS_SPAWNER = fileURLToPath(new URL('./process-spawner.js', import.meta.url))

/** The bundle of the program that renders Markdown, likewise. */
const MARKUP_PROGRAM = fileURLToPath(new URL('./markup-program.js', import.meta.url))

/**
 * Time for calls in flight to finish after SIGTERM. Service managers commonly send SIGKILL after 30
 * seconds.
 */
const SHUTDOWN_GRACE_MS = 20_000

/** The longest time that this process takes to end after everything is closed. */
const MAX_ENDING_MS = 2_000

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']

/** Serves until a signal. */
export async function serve(flags: ServeFlags): Promise<void> {
  const log = createLog(flags.logLevel)
  const server = await start(flags, log)
  const { stopDelay: delayMs } = flags
  // A signal may follow as soon as the line below is printed.
  stopOnSignal(server, delayMs, log)
  print(`branchline listening on ${server.url}`)
}

/** Serves as a worker process, until the primary process says so or ends. */
export async function serveAsWorker(flags: ServeFlags): Promise<void> {
  const primary = await PrimaryProcess.connect()
  const log = createSharedLog(flags.logLevel, primary.worker)
  try {
    const server = await start(flags, log, primary)
    // A service manager may signal all processes at once, and the primary process passes on the end.
    for (const name of STOP_SIGNALS) process.on(name, () => primary.leave())
    primary.ready({
      announceStop: () => server.announceStop(),
      drain: () => drain(server, log),
    })
  } catch (error) {
    const reason = explained(error)
    await primary.fail(reason instanceof Error ? reason.message : String(reason))
    process.exit(1)
  }
}

async function start(flags: ServeFlags, log: Logger, primary?: PrimaryProcess): Promise<Server> {
  const config = readConfig(flags)
  const spawner = new ProcessSpawner(PROCESS_SPAWNER, (reason) =>
    log.warn({ reason }, 'the process spawner has ended; the server starts Git processes itself'),
  )
  try {
    return await startServer(config, log, {
      spawner,
      markupProgram: MARKUP_PROGRAM,
      ...(primary && { workers: primary }),
    })
  } catch (error) {
    spawner.stop()
    throw error
  }
}

/**
 * Announces the stop on the first signal, and drains the server and exits 0 after a delay. Exits at
 * once on the second signal.
 */
function stopOnSignal(server: Server, delayMs: number, log: Logger): void {
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1)
    stopping = true
    server.announceStop()
    if (delayMs === 0) return drain(server, log, signal)
    log.info({ signal, delayMs }, 'reporting that the server is not ready, before it stops')
    setTimeout(() => drain(server, log, signal), delayMs)
  }
  for (const name of STOP_SIGNALS) process.on(name, stop)
}

/** Finishes the calls in flight, then ends this process. */
function drain(server: Server, log: Logger, signal?: NodeJS.Signals): void {
  log.info({ signal }, 'finishing the calls in flight')
  server.close(SHUTDOWN_GRACE_MS).then(
    () => end(0),
    (err: unknown) => {
      log.error({ err }, 'the shutdown failed')
      end(1)
    },
  )
}

/**
 * Ends this process, in which nothing is left to do. `process.exit` frees the memory of nodegit
 * while threads of nodegit still use that memory: a thread reports the end of its work before it
 * releases its locks. Node waits for these threads only when a process ends by itself.
 */
function end(code: number): void {
  process.exitCode = code
  process.channel?.unref()
  setTimeout(() => process.exit(code), MAX_ENDING_MS).unref()
}
