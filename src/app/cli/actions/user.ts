import { buffer } from 'node:stream/consumers'
import { createUserAsOperator } from '../../../forge/accounts/users/create-user.ts'
import type { LogLevel } from '../../config.ts'
import { type DataPlace, openData } from '../../data-folder.ts'
import { createLog } from '../../log.ts'
import { createApp } from '../../server/app.ts'
import { print } from '../print.ts'
import { OPERATOR_SETTINGS } from './operator.ts'

export interface UserFlags extends DataPlace {
  readonly username: string
  readonly role: 'admin' | 'user'
  readonly email: string
  readonly displayName: string
  readonly minPasswordLength: number
  readonly passwordStdin: boolean
  readonly logLevel: LogLevel
}

/** Creates an account, with the password from standard input. */
export async function createUser(flags: UserFlags): Promise<void> {
  const password = (await buffer(process.stdin)).toString('utf8').replace(/\r?\n$/, '')
  const db = await openData(flags)
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
