import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { t } from '../language/texts.tsx'
import { refusalText } from './refusals.ts'
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
  APPROVALS_MISSING: t('Ask a reviewer to approve the changes.'),
  BAD_CREDENTIALS: t('Check the name and the password, then try again.'),
  CHANGES_REQUESTED: t('Make the requested changes, or ask the reviewer to review again.'),
  CONFIRMATION_REQUIRED: t(
    'Type your present password or a passcode. Without both, sign out and in again first.',
  ),
  EMAIL_TAKEN: t('Use another address.'),
  FIRST_ACCOUNT_REFUSED: t('Open the page on the machine of the server, or use the command below.'),
  GPG_KEY_EMAIL_UNKNOWN: t(
    'Add the signature that proves that the key is yours, or set your e-mail address to one of the key.',
  ),
  GPG_SIGNATURE_INVALID: t('Run the command again, and paste all of its output.'),
  HAS_ASSOCIATED_DATA: t('Choose that the content is deleted too, or delete or transfer it first.'),
  HEAD_BEHIND_BASE: t('Update the branch of the pull request from its target first.'),
  HEAD_COMMIT_DIFFERS: t('New commits have arrived. Look at them, then merge again.'),
  INVALID_EMAIL_TOKEN: t('Add the address again, and open the link of the new mail.'),
  INVALID_GPG_KEY: t('Paste the whole output of the command, with its first and last line.'),
  INVALID_RESET_TOKEN: t('Ask for a new mail.'),
  INVALID_SSH_KEY: t('Paste the one line of the file that ends in .pub.'),
  LAST_ORGANIZATION_OWNER: t(
    'Make another member an owner of the organisation, or delete the organisation first.',
  ),
  LAST_ADMIN: t('Make another user an administrator first.'),
  MAIL_NOT_CONFIGURED: t('Ask the administrator to configure mail.'),
  MERGE_CONFLICT: t('Merge the target branch into this one, resolve the conflicts, and push.'),
  MERGE_DENIED: t('Ask somebody who may write to the repository.'),
  PROTECTED_FILES_CHANGED: t('Leave the protected files as they are, or ask an administrator.'),
  PULL_REQUEST_NOT_MERGEABLE: t('Push new commits, or close the pull request.'),
  PULL_REQUEST_WORK_IN_PROGRESS: t('Remove the mark of unfinished work from the title first.'),
  PULL_REQUEST_EXISTS: t('Use the pull request that these branches have.'),
  REBASE_CONFLICT: t('Rebase the branch, resolve the conflicts, and push.'),
  REVIEWS_MISSING: t('Wait for the requested reviews.'),
  SSH_KEY_IN_USE: t('Use a key of its own for each account.'),
  STATUS_CHECKS_MISSING: t('Wait until the required checks have succeeded.'),
  TWO_FACTOR_INVALID: t('Type the six digits that the app shows now. Each of them works once.'),
  WEAK_PASSWORD: t('Choose a longer password that is not the username.'),
}

/** Codes of refusals that another attempt would meet again have no advice. */
const ADVICE_BY_CODE: Readonly<Partial<Record<Code, string>>> = {
  [Code.NotFound]: t(
    'Check the address. If it is private, sign in with an account that may see it.',
  ),
  [Code.Unauthenticated]: t('Sign in, then try again.'),
  [Code.PermissionDenied]: t('Ask an owner of the repository for access.'),
  [Code.InvalidArgument]: t('Correct the input, then try again.'),
  [Code.ResourceExhausted]: t('Wait a while, then try again.'),
  [Code.Aborted]: t('Try again.'),
  [Code.DeadlineExceeded]: t('Try again.'),
  [Code.Internal]: t('Try again.'),
  [Code.Unknown]: t('Try again.'),
  [Code.Unavailable]: t('Check the connection, or wait a few seconds, then try again.'),
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
      thrown.isOutdated ? t('This page is out of date') : t('A part of this page has not loaded'),
      thrown.isOutdated
        ? t(
            'The server has another version. Keep a copy of what you have typed, then reload the page.',
          )
        : t('Keep a copy of what you have typed, then reload the page.'),
      '',
    )
  // Those of calls are errors of Connect.
  if (thrown instanceof TypeError)
    return failureOfPage(
      t('This page has a fault'),
      t('Reload the page. If the fault comes again, tell the administrator the reason.'),
      thrown.message,
    )
  const error = ConnectError.from(thrown)
  const [info] = error.findDetails(ErrorInfoSchema)
  const reason = info?.reason ?? ''
  const said = error.rawMessage.replace(NUMBERS, '')
  const message = `${said.charAt(0).toUpperCase()}${said.slice(1)}`
  const metadata = info?.metadata ?? {}
  return {
    message: refusalText({ reason, metadata, message }),
    reason,
    advice: ADVICE[reason] ?? ADVICE_BY_CODE[error.code] ?? '',
    needsReload: false,
    isMissing: error.code === Code.NotFound,
    metadata,
    isSignedOut: error.code === Code.Unauthenticated,
  }
}

function failureOfPage(message: string, advice: string, reason: string): Failure {
  const isOf = { needsReload: true, isMissing: false, isSignedOut: false }
  return { message, reason, advice, ...isOf, metadata: {} }
}
