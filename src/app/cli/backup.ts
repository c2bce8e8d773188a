import type { Command } from 'commander'
import type { BackupFlags } from './actions/backup.ts'
import type { RestoreFlags } from './actions/restore.ts'
import { commandOnData } from './place.ts'
import { run } from './run.ts'

/** `branchline backup` */
export function backupCommand(): Command {
  return commandOnData('backup')
    .description(
      'write an instance with SQLite or PostgreSQL into one tar archive, beside running servers or without',
    )
    .requiredOption(
      '--output <file>',
      'archive to write, replaced when it exists; - for standard output',
    )
    .action((flags: BackupFlags) => run(({ backup }) => backup(flags)))
}

/** `branchline restore` */
export function restoreCommand(): Command {
  return commandOnData('restore')
    .description(
      'create an instance from an archive of `backup`, with SQLite or with the PostgreSQL database of --database; run it again after an interruption',
    )
    .requiredOption('--input <file>', 'archive; - for standard input')
    .action((flags: RestoreFlags) => run(({ restore }) => restore(flags)))
}
