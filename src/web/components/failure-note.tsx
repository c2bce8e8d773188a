import type { VNode } from 'preact'
import { useApi } from '../api/client.ts'
import type { Failure } from '../api/failure.ts'
import { SignInLink } from './sign-in-link.tsx'

/** A failure: what happened, why, and what to do. */
export function FailureNote({ failure }: { failure: Failure }): VNode {
  const { session } = useApi()
  const { message, reason, advice } = failure
  // A wrong passcode is such a failure too, of a user who has a session.
  const isSignedOut = failure.isSignedOut && session.user === undefined
  return (
    <div class="note problem" role="alert">
      <p>
        <strong>{/[.!?]$/.test(message) ? message : `${message}.`}</strong> {advice}
      </p>
      {isSignedOut && (
        <p>
          <SignInLink />
        </p>
      )}
      {failure.needsReload && (
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      )}
      {reason !== '' && <p class="reason">Reason: {reason}</p>}
    </div>
  )
}
