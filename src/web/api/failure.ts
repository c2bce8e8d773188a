import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { ScriptFailure } from './scripts.ts'

/** A failed call, in words for the user. */
export interface Failure {
  readonly message: string
  /** The name of the reason for programs and reports; empty if the server gave none. */
  readonly reason: string
  /** Advice for the user. */
  readonly advice: string
  readonly isMissing: boolean
  /** What programs may read of the reason. */
  readonly metadata: Readonly<Record<string, string>>
  /** Whether only a new load of the page helps. */
  readonly needsReload: boolean
  readonly isSignedOut: boolean
}

const ADVICE: Readonly<Record<string, string>> = {
  APPROVALS_MISSING: 'Ask a reviewer to approve the changes.',
  BAD_CREDENTIALS: 'Check the name and the password, then try again.',
  CHANGES_REQUESTED: 'Make the requested changes, or ask the reviewer to review again.',
  CONFIRMATION_REQUIRED:
    'Type your present password or a passcode. Without both, sign out and in again first.',
  EMAIL_TAKEN: 'Use another address.',
  FIRST_ACCOUNT_REFUSED: 'Open the page on the machine of the server, or use the command below.',
  GPG_KEY_EMAIL_UNKNOWN:
    'Add the signature that proves that the key is yours, or set your e-mail address to one of the key.',
  GPG_SIGNATURE_INVALID: 'Run the command again, and paste all of its output.',
  HAS_ASSOCIATED_DATA: 'Choose that the content is deleted too, or delete or transfer it first.',
  HEAD_BEHIND_BASE: 'Update the branch of the pull request from its target first.',
  HEAD_COMMIT_DIFFERS: 'New commits have arrived. Look at them, then merge again.',
  INVALID_EMAIL_TOKEN: 'Add the address again, and open the link of the new mail.',
  INVALID_GPG_KEY: 'Paste the whole output of the command, with its first and last line.',
  INVALID_RESET_TOKEN: 'Ask for a new mail.',
  INVALID_SSH_KEY: 'Paste the one line of the file that ends in .pub.',
  LAST_ORGANIZATION_OWNER:
    'Make another member an owner of the organisation, or delete the organisation first.',
  LAST_ADMIN: 'Make another user an administrator first.',
  MAIL_NOT_CONFIGURED: 'Ask the administrator to configure mail.',
  MERGE_CONFLICT: 'Merge the target branch into this one, resolve the conflicts, and push.',
  MERGE_DENIED: 'Ask somebody who may write to the repository.',
  PROTECTED_FILES_CHANGED: 'Leave the protected files as they are, or ask an administrator.',
  PULL_REQUEST_NOT_MERGEABLE: 'Push new commits, or close the pull request.',
  PULL_REQUEST_WORK_IN_PROGRESS: 'Remove the mark of unfinished work from the title first.',
  PULL_REQUEST_EXISTS: 'Use the pull request that these branches have.',
  REBASE_CONFLICT: 'Rebase the branch, resolve the conflicts, and push.',
  REVIEWS_MISSING: 'Wait for the requested reviews.',
  SSH_KEY_IN_USE: 'Use a key of its own for each account.',
  STATUS_CHECKS_MISSING: 'Wait until the required checks have succeeded.',
  TWO_FACTOR_INVALID: 'Type the six digits that the app shows now. Each of them works once.',
  WEAK_PASSWORD: 'Choose a longer password that is not the username.',
}

/** Codes of refusals that another attempt would meet again have no advice. */
const ADVICE_BY_CODE: Readonly<Partial<Record<Code, string>>> = {
  [Code.NotFound]: 'Check the address. If it is private, sign in with an account that may see it.',
  [Code.Unauthenticated]: 'Sign in, then try again.',
  [Code.PermissionDenied]: 'Ask an owner of the repository for access.',
  [Code.InvalidArgument]: 'Correct the input, then try again.',
  [Code.ResourceExhausted]: 'Wait a while, then try again.',
  [Code.Aborted]: 'Try again.',
  [Code.DeadlineExceeded]: 'Try again.',
  [Code.Internal]: 'Try again.',
  [Code.Unknown]: 'Try again.',
  [Code.Unavailable]: 'Check the connection, or wait a few seconds, then try again.',
}

/** Numbers that compatible systems append for programs. */
const NUMBERS = / \[[^[\]]*id: [^\]]*\]$/

/** Returns what the user can do after a refusal for a reason; empty if there is nothing. */
export function adviceFor(reason: string): string {
  return ADVICE[reason] ?? ''
}

/** Returns what to tell the user about an error. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof ScriptFailure)
    return failureOfPage(
      thrown.isOutdated ? 'This page is out of date' : 'A part of this page has not loaded',
      thrown.isOutdated
        ? 'The server has another version. Keep a copy of what you have typed, then reload the page.'
        : 'Keep a copy of what you have typed, then reload the page.',
      '',
    )
  // Those of calls are errors of Connect.
  if (thrown instanceof TypeError)
    return failureOfPage(
      'This page has a fault',
      'Reload the page. If the fault comes again, tell the administrator the reason.',
      thrown.message,
    )
  const error = ConnectError.from(thrown)
  const [info] = error.findDetails(ErrorInfoSchema)
  const reason = info?.reason ?? ''
  const message = error.rawMessage.replace(NUMBERS, '')
  return {
    message: `${message.charAt(0).toUpperCase()}${message.slice(1)}`,
    reason,
    advice: ADVICE[reason] ?? ADVICE_BY_CODE[error.code] ?? '',
    needsReload: false,
    isMissing: error.code === Code.NotFound,
    metadata: info?.metadata ?? {},
    isSignedOut: error.code === Code.Unauthenticated,
  }
}

function failureOfPage(message: string, advice: string, reason: string): Failure {
  const isOf = { needsReload: true, isMissing: false, isSignedOut: false }
  return { message, reason, advice, ...isOf, metadata: {} }
}
