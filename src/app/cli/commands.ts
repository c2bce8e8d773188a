import { Command, InvalidArgumentError, Option } from 'commander'
import {
  dataOption,
  hostKeysOption,
  logLevelOption,
  minPasswordLengthOption,
  objectStorageOptions,
  placeOptions,
  pruneAfterOption,
  serveOptions,
} from '../config/options.ts'
import { byteSize } from '../config/values.ts'
import { workersOf } from '../config/workers.ts'
import type { ServeFlags } from '../config.ts'
import type { DataPlace } from '../data-folder.ts'
import { tuneForStart } from '../server/heap-tuning.ts'
import type {
  BackupFlags,
  DoctorFlags,
  MaintainFlags,
  MigrateFlags,
  MoveStorageFlags,
  RestoreFlags,
  SshKeysFlags,
  SshKeysStep,
  UserFlags,
} from './actions.ts'
import { printAuthorizedKey, sshServe } from './ssh-serve.ts'

/** `branchline serve` */
export function serveCommand(): Command {
  return commandThatServes(async (flags) => {
    if (workersOf(flags.workers) > 1) {
      // The primary process needs none of the code of the server.
      const { serveByWorkers } = await import('./primary.ts')
      await serveByWorkers(flags)
      return
    }
    tuneForStart()
    await run(({ serve }) => serve(flags))
  })
}

/** The same command in a worker process of `serve --workers`. */
export function workerCommand(): Command {
  return commandThatServes((flags) => {
    tuneForStart()
    return run(({ serveAsWorker }) => serveAsWorker(flags))
  })
}

function commandThatServes(action: (flags: ServeFlags) => Promise<void>): Command {
  const command = new Command('serve').description(
    'serve until SIGTERM or SIGINT; a second signal exits at once',
  )
  for (const option of serveOptions()) command.addOption(option)
  return command.action(action)
}

/** `branchline migrate` */
export function migrateCommand(): Command {
  return commandOnData('migrate')
    .description('migrate the database to the version of this program, as `serve` does')
    .option(
      '--to <version>',
      'another version, also a lower one: only with the server stopped and a backup made',
      version,
    )
    .action((flags: MigrateFlags) => run(({ migrate }) => migrate(flags)))
}

function version(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** `branchline backup` */
export function backupCommand(): Command {
  return commandOnFiles('backup')
    .description(
      'write an instance with SQLite or PostgreSQL into one tar archive, beside running servers or without',
    )
    .requiredOption(
      '--output <file>',
      'archive to write, replaced when it exists; - for standard output',
    )
    .option(
      '--without-objects',
      'list release assets and attachments with their keys and sizes, instead of their contents',
      false,
    )
    .action((flags: BackupFlags) => run(({ backup }) => backup(flags)))
}

/** `branchline restore` */
export function restoreCommand(): Command {
  return commandOnFiles('restore')
    .description(
      'create an instance from an archive of `backup`, with SQLite or with the PostgreSQL database of --database; run it again after an interruption',
    )
    .requiredOption('--input <file>', 'archive; - for standard input')
    .action((flags: RestoreFlags) => run(({ restore }) => restore(flags)))
}

/** `branchline doctor` */
export function doctorCommand(): Command {
  return commandOnFiles('doctor')
    .description('compare the database with the repositories; exits 1 when problems are left')
    .option('--fsck', 'let Git check every object of every repository too', false)
    .option(
      '--fix',
      'repair the problems that can be repaired; only with the server stopped',
      false,
    )
    .option(
      '--rebuild-search',
      'write the index of the search for issues anew first; only with the server stopped',
      false,
    )
    .option(
      '--storage',
      'test instead what Git and Branchline need from the file system of the data folder',
      false,
    )
    .addOption(logLevelOption())
    .action(({ storage, ...flags }: DoctorFlags & { readonly storage: boolean }) =>
      run((actions) => (storage ? actions.examineStorage(flags) : actions.doctor(flags))),
    )
}

/** `branchline limbo …` */
export function limboCommand(): Command {
  const list = commandOnData('list')
    .description('list the objects that maintenance has removed and that can be brought back')
    .action((flags: DataPlace) => run(({ listLimbo }) => listLimbo(flags)))
  const restored = commandOnData('restore')
    .description('bring all removed objects of a repository back, with or without a running server')
    .argument('<repository>', 'owner and name, such as ada/tools')
    .action((name: string, flags: DataPlace) =>
      run(({ restoreLimbo }) => restoreLimbo(name, flags)),
    )
  return new Command('limbo')
    .description('manage objects that maintenance has removed from repositories')
    .addCommand(list)
    .addCommand(restored)
}

/** `branchline maintain` */
export function maintainCommand(): Command {
  return commandOnData('maintain')
    .description(
      'run steps of the maintenance of repositories, by the running server or without one; exits 1 when a step fails',
    )
    .argument('[repository]', 'owner and name, such as ada/tools, or the number of the repository')
    .option('--all', 'all repositories', false)
    .option(
      '--step <name>',
      'full, prune, geometric, bitmap, commit-graph or refs; may be repeated (default: all but full and prune)',
      (name: string, names: string[]) => [...names, name],
      [],
    )
    .addOption(pruneAfterOption())
    .addOption(logLevelOption())
    .action((target: string | undefined, flags: MaintainFlags) =>
      run(({ maintain }) => maintain(target, flags)),
    )
}

/** `branchline storage …` */
export function storageCommand(): Command {
  const move = commandOnFiles('move')
    .description(
      'move release assets and attachments between the data folder and the object storage, with or without running servers; run it again after an interruption',
    )
    .addOption(
      new Option('--to <store>', 'where the contents are to be')
        .choices(['s3', 'disk'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--only <kind>', 'the contents to move').choices(['attachments', 'lfs']))
    .option('--rate <size>', 'the most bytes to move in a second, such as 50MiB', byteSize)
    .addOption(logLevelOption())
    .action((flags: MoveStorageFlags) => run(({ moveStorage }) => moveStorage(flags)))
  return new Command('storage').description('manage stored files').addCommand(move)
}

/** `branchline user …` */
export function userCommand(): Command {
  const create = commandOnData('create')
    .description('create an account in a data folder, with or without a running server')
    .requiredOption('--username <name>', 'name to sign in with')
    .addOption(
      new Option('--role <role>', 'role of the account').choices(['admin', 'user']).default('user'),
    )
    .option('--email <address>', 'e-mail address', '')
    .option('--display-name <text>', 'name to show', '')
    .requiredOption(
      '--password-stdin',
      'read the password from standard input, without the line break at its end',
    )
    .addOption(minPasswordLengthOption())
    .addOption(logLevelOption())
    .action((flags: UserFlags) => run(({ createUser }) => createUser(flags)))
  return new Command('user').description('manage accounts').addCommand(create)
}

/** `branchline ssh-keys …` */
export function sshKeysCommand(): Command {
  const step = (name: SshKeysStep, description: string) =>
    new Command(name)
      .description(description)
      .addOption(dataOption())
      .addOption(hostKeysOption())
      .action((flags: SshKeysFlags) => run(({ sshKeys }) => sshKeys(name, flags)))
  return new Command('ssh-keys')
    .description('list and change the host keys of Git over SSH')
    .addCommand(step('list', 'print the fingerprints of the present and the next keys'))
    .addCommand(step('rotate', 'write the next keys beside the present ones, for clients to learn'))
    .addCommand(step('activate', 'make the next keys the present ones'))
}

/** `branchline ssh-authorized-keys`, for `AuthorizedKeysCommand` of sshd_config(5). */
export function sshAuthorizedKeysCommand(): Command {
  return new Command('ssh-authorized-keys')
    .description('print the line of authorized_keys for a key, for sshd')
    .addOption(dataOption())
    .argument('<user>', '%u of sshd')
    .argument('<type>', '%t of sshd')
    .argument('<key>', '%k of sshd')
    .action((_user: string, type: string, key: string, { data }: { data: string }) =>
      printAuthorizedKey(data, type, key),
    )
}

/** `branchline ssh-serve`, which `ssh-authorized-keys` prints. */
export function sshServeCommand(): Command {
  return new Command('ssh-serve')
    .description('run the Git command of a client of sshd')
    .addOption(dataOption())
    .argument('<key>', 'the key of the client, such as key-7')
    .action((key: string, { data }: { data: string }) => sshServe(data, key))
}

/** Creates a command with the options that name the data of an instance. */
function commandOnData(name: string): Command {
  const command = new Command(name)
  for (const option of placeOptions()) command.addOption(option)
  return command
}

/** Creates a command that reads release assets and attachments too. */
function commandOnFiles(name: string): Command {
  const command = commandOnData(name)
  for (const option of objectStorageOptions()) command.addOption(option)
  return command
}

type Actions = typeof import('./actions.ts')

/**
 * Runs the action of a command. Its code is loaded now: `--help` and `version` need none of it and
 * would otherwise take three times as long.
 *
 * @throws an error with a message for the operator.
 */
async function run(action: (actions: Actions) => Promise<void>): Promise<void> {
  const actions = await import('./actions.ts')
  try {
    await action(actions)
  } catch (error) {
    throw actions.explained(error)
  }
}
