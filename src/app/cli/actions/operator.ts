import type { Settings } from '../../../forge/core/core.ts'

/** Settings for an operator at the command line, to whom the limits for users do not apply. */
export const OPERATOR_SETTINGS: Settings = {
  registration: 'closed',
  passwordSignIn: true,
  basicPassword: true,
  minPasswordLength: 0,
  privateInstance: false,
  usernameChange: true,
  displayNameChange: true,
  statsBy: 'create',
  memoContentBytes: 8192,
  webhookRetryScheduleMs: [],
  maxPushBytes: 0,
  maxAssetBytes: 0,
  mailFrom: undefined,
  defaultMergeStyle: 'merge',
  signing: false,
  wipPrefixes: [],
  diffMaxLines: 0,
  diffMaxLineCharacters: 0,
  gitHooks: false,
  hookTimeoutMs: 30_000,
  defaultPageSize: undefined,
  maxPageSize: undefined,
}
