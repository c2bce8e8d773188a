import type { VNode } from 'preact'
import type { Failure } from '../api/failure.ts'
import { SignInLink } from './sign-in-link.tsx'

/** A failure: what happened, why, and what to do. */
export function FailureNote({ failure }: { failure: Failure }): VNode {
  const { message, reason, advice, isSignedOut } = failure
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
      {reason !== '' && <p class="reason">Reason: {reason}</p>}
    </div>
  )
}
