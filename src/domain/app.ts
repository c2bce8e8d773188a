import type { Logger } from 'pino'
import type { Db } from '../storage/database.ts'
import type { GuessLimits } from './accounts/guess-limits.ts'
import type { InstanceKeys } from './accounts/instance-keys.ts'
import type { PasswordHasher } from './accounts/passwords.ts'
import type { Background } from './background.ts'

/** What every use case works with, built once by the server and passed as first argument. */
export interface App {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Settings
  readonly log: Logger
  readonly keys: InstanceKeys
  readonly passwords: PasswordHasher
  readonly guesses: GuessLimits
  readonly background: Background
}

/** Time, so that tests can set it. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

/** The settings that rules depend on. `docs/operations.md` says what each does. */
export interface Settings {
  readonly registration: 'open' | 'closed'
  readonly passwordSignIn: boolean
  readonly basicPassword: boolean
  readonly minPasswordLength: number
  readonly privateInstance: boolean
  readonly usernameChange: boolean
  readonly displayNameChange: boolean
}

/** Whole Unix seconds of a clock. */
export function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}
