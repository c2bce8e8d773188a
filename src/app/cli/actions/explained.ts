import { refusal } from '../../../edge/errors.ts'
import { DomainError } from '../../../forge/core/errors.ts'

/** Returns an error with a message for the operator. */
export function explained(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  return new Error(refusal(error.reason, error.metadata).rawMessage, { cause: error })
}
