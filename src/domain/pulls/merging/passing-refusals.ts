import type { DomainError, Reason } from '../../core/errors.ts'

/**
 * What keeps a merge, or what follows from one, from happening at one moment and not at the next.
 */
const PASSING: readonly Reason[] = [
  'GIT_TIMEOUT',
  'HEAD_COMMIT_DIFFERS',
  'MERGE_OUT_OF_DATE',
  'REF_CHANGED',
  'SERVER_BUSY',
  'TOO_MANY_GIT_HOOKS',
]

/** Whether the same may well succeed in a moment. */
export function isPassing({ reason }: DomainError): boolean {
  return PASSING.includes(reason)
}
