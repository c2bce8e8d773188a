import { Command } from 'commander'
import { dataOption } from '../config/options.ts'
import type { BackupFlags } from './actions/backup.ts'
import type { RestoreFlags } from './actions/restore.ts'
import { run } from './run.ts'

/** `branchline backup` */
export function backupCommand(): Command {
  return new Command('backup')
    .description('write an instance into one tar archive, with or without a running server')
    .addOption(dataOption())
    .requiredOption(
      '--output <file>',
      'archive to write, replaced when it exists; - for standard output',
    )
    .action((flags: BackupFlags) => run(({ backup }) => backup(flags)))
}

/** `branchline restore` */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('create a data folder from an archive of `backup`')
    .addOption(dataOption())
    .requiredOption('--input <file>', 'archive; - for standard input')
    .action((flags: RestoreFlags) => run(({ restore }) => restore(flags)))
}
