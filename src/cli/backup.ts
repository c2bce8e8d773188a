import type { Command } from 'commander'
import type { BackupFlags } from './actions/backup.ts'
import type { RestoreFlags } from './actions/restore.ts'
import { commandOnData } from './place.ts'
import { run } from './run.ts'

/** `branchline backup` */
export function backupCommand(): Command {
  return commandOnData('backup')
    .description('write an instance into one tar archive, with or without a running server')
    .requiredOption(
      '--output <file>',
      'archive to write, replaced when it exists; - for standard output',
    )
    .action((flags: BackupFlags) => run(({ backup }) => backup(flags)))
}

/** `branchline restore` */
export function restoreCommand(): Command {
  return commandOnData('restore')
    .description('create a data folder from an archive of `backup`')
    .requiredOption('--input <file>', 'archive; - for standard input')
    .action((flags: RestoreFlags) => run(({ restore }) => restore(flags)))
}
