import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { t } from '../language/texts.tsx'
import { Code, ConnectError } from './calls.ts'
import { refusalText } from './refusals.ts'
import { ScriptFailure } from './scripts.ts'

/** A failed call, in words for the user. */
export interface Failure {
  readonly message: string
  /** The name of the reason for programs and reports; empty if the server gave none. */
  readonly reason: string
  /** Advice for the user, unless there is some for the reason (`adviceFor`). */
  readonly advice: string
  readonly isMissing: boolean
  /** What programs may read of the reason. */
  readonly metadata: Readonly<Record<string, string>>
  /** Whether only a new load of the page helps. */
  readonly needsReload: boolean
  readonly isSignedOut: boolean
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
    advice: ADVICE_BY_CODE[error.code] ?? '',
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
