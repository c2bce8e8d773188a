import { buffer } from 'node:stream/consumers'
import { Command, Option } from 'commander'
import { dataOption, type LogLevel, logLevelOption, minPasswordLengthOption } from '../config.ts'
import { openData } from '../data-folder.ts'
import { createUserAsOperator } from '../domain/accounts/registration/create-user.ts'
import { createLog } from '../log.ts'
import { createApp } from '../server/app.ts'
import { OPERATOR_SETTINGS } from './operator.ts'
import { print } from './print.ts'

interface UserFlags {
  data: string
  username: string
  role: 'admin' | 'user'
  email: string
  displayName: string
  minPasswordLength: number
  passwordStdin: boolean
  logLevel: LogLevel
}

/** `branchline user …` */
export function userCommand(): Command {
  const create = new Command('create')
    .description('make an account in a data folder, whether or not a server is running on it')
    .addOption(dataOption())
    .requiredOption('--username <name>', 'name to sign in with')
    .addOption(
      new Option('--role <role>', 'what the account may do')
        .choices(['admin', 'user'])
        .default('user'),
    )
    .option('--email <address>', 'e-mail address', '')
    .option('--display-name <text>', 'name to show', '')
    .requiredOption(
      '--password-stdin',
      'read the password from standard input, without the line break at its end',
    )
    .addOption(minPasswordLengthOption())
    .addOption(logLevelOption())
    .action(createUser)
  return new Command('user').description('manage accounts').addCommand(create)
}

async function createUser(flags: UserFlags): Promise<void> {
  const password = (await buffer(process.stdin)).toString('utf8').replace(/\r?\n$/, '')
  const db = await openData(flags.data)
  try {
    const settings = { ...OPERATOR_SETTINGS, minPasswordLength: flags.minPasswordLength }
    const app = await createApp({
      db,
      folder: flags.data,
      settings,
      log: createLog(flags.logLevel),
    })
    const user = await createUserAsOperator(app, {
      username: flags.username,
      userId: '',
      email: flags.email,
      display_name: flags.displayName,
      avatar_url: '',
      description: '',
      password,
      role: flags.role === 'admin' ? 'ADMIN' : 'USER',
      state: 'NORMAL',
    })
    print(`created users/${user.username} (${flags.role})`)
  } finally {
    await db.destroy()
  }
}
