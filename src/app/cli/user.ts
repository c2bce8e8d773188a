import { Command, Option } from 'commander'
import { logLevelOption, minPasswordLengthOption } from '../config/options.ts'
import type { UserFlags } from './actions/user.ts'
import { commandOnData } from './place.ts'
import { run } from './run.ts'

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
