import { type Command, InvalidArgumentError } from 'commander'
import type { MigrateFlags } from './actions/migrate.ts'
import { commandOnData } from './place.ts'
import { run } from './run.ts'

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
