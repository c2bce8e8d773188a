import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import type { Logger } from 'pino'
import { backupCommand, restoreCommand } from './cli/backup.ts'
import { doctorCommand } from './cli/doctor.ts'
import { print } from './cli/print.ts'
import { userCommand } from './cli/user.ts'
import { dataOption, readConfig, type ServeFlags, serveOptions, unknownVariable } from './config.ts'
import { migrateData } from './data-folder.ts'
import { DomainError } from './domain/core/errors.ts'
import { ProcessSpawner } from './git/processes/process-spawner.ts'
import { createLog } from './log.ts'
import { type Server, startServer } from './server/server.ts'
import { refusal } from './transport/errors/index.ts'
import { VERSION } from './version.ts'

/** Beside the bundled server (`scripts/setup/bundle.mjs`). */
const PROCESS_SPAWNER = fileURLToPath(new URL('./process-spawner.js', import.meta.url))

/**
 * How long calls in flight may take to finish after SIGTERM; service managers commonly kill after
 * 30 seconds.
 */
const SHUTDOWN_GRACE_MS = 20_000

/**
 * Runs a command line, and sets the exit code: 0 when it did what it was told, 1 when it could not,
 * with a sentence on stderr.
 *
 * @param argv as in process.argv.
 */
export async function runCommandLine(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const problem = unknownVariable(environment)
  outliveReaders()
  try {
    if (problem) throw new Error(problem)
    await program().parseAsync(argv)
  } catch (error) {
    process.stderr.write(`branchline: ${sentence(error)}\n`)
    process.exitCode = 1
  }
}

/** Whoever read what we print may go away (EPIPE, pipe(7)): that must not end the server. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

/** All commands, with their options. */
export function program(): Command {
  const root = new Command('branchline')
    .description(
      'A self-hosted Git forge backend. Every option can also be set by the environment variable that its help names.',
    )
    .showHelpAfterError('(--help lists the commands and options)')
  root.addCommand(serveCommand())
  root.addCommand(userCommand())
  root.addCommand(backupCommand())
  root.addCommand(restoreCommand())
  root.addCommand(doctorCommand())
  root.addCommand(migrateCommand())
  root
    .command('version')
    .description('print the version of this program')
    .action(() => print(`branchline ${VERSION} (Node ${process.versions.node})`))
  return root
}

function serveCommand(): Command {
  const command = new Command('serve').description(
    'serve until SIGTERM or SIGINT; a second signal exits at once',
  )
  for (const option of serveOptions()) command.addOption(option)
  return command.action(async (flags: ServeFlags) => {
    const config = readConfig(flags)
    const log = createLog(config.logLevel)
    const spawner = new ProcessSpawner(PROCESS_SPAWNER, (reason) =>
      log.warn({ reason }, 'the process spawner has ended; the server starts Git processes itself'),
    )
    const server = await startServer(config, log, { spawner }).catch((error: unknown) => {
      spawner.stop()
      throw error
    })
    // Whoever reads that it listens may stop it.
    stopOnSignal(server, log)
    print(`branchline listening on ${server.url}`)
  })
}

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']

/** The first signal drains the server and exits 0; the second one exits at once. */
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

function migrateCommand(): Command {
  return new Command('migrate')
    .description('bring the database to the version of this program; `serve` does so by itself')
    .addOption(dataOption())
    .option(
      '--to <version>',
      'another version, also a lower one: only with the server stopped and a backup made',
      version,
    )
    .action(async (flags: { data: string; to?: number }) => {
      const { from, to, ran } = await migrateData(flags.data, flags.to)
      print(
        ran.length === 0
          ? `the database is at version ${to}`
          : `version ${from} to ${to}: ${ran.join(', ')}`,
      )
    })
}

function version(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** What went wrong, for the person at the terminal. */
function sentence(error: unknown): string {
  if (error instanceof DomainError) return refusal(error.reason, error.metadata).rawMessage
  return error instanceof Error ? error.message : String(error)
}
