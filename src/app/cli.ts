import { Command } from 'commander'
import { VERSION } from '../forge/core/version.ts'
import {
  backupCommand,
  doctorCommand,
  limboCommand,
  maintainCommand,
  migrateCommand,
  restoreCommand,
  serveCommand,
  sshAuthorizedKeysCommand,
  sshKeysCommand,
  sshServeCommand,
  storageCommand,
  userCommand,
} from './cli/commands.ts'
import { ignoreClosedReaders, print } from './cli/print.ts'
import { unknownVariable } from './config.ts'

/**
 * Runs a command line and sets the exit code: 0 for success, 1 for a failure with a sentence on
 * stderr.
 *
 * @param argv as in process.argv.
 */
export async function runCommandLine(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const problem = unknownVariable(environment)
  ignoreClosedReaders()
  try {
    if (problem) throw new Error(problem)
    await program().parseAsync(argv)
  } catch (error) {
    process.stderr.write(`branchline: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}

/** Creates the commands with their options. */
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
  root.addCommand(limboCommand())
  root.addCommand(sshKeysCommand())
  root.addCommand(sshAuthorizedKeysCommand())
  root.addCommand(sshServeCommand())
  root.addCommand(maintainCommand())
  root.addCommand(migrateCommand())
  root.addCommand(storageCommand())
  root
    .command('version')
    .description('print the version of this program')
    .action(() => print(`branchline ${VERSION} (Node ${process.versions.node})`))
  return root
}
