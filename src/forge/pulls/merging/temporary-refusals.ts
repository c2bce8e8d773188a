import type { DomainError, Reason } from '../../core/errors.ts'

const TEMPORARY: readonly Reason[] = [
  'GIT_TIMEOUT',
  'HEAD_COMMIT_DIFFERS',
  'MERGE_OUT_OF_DATE',
  'REF_CHANGED',
  'SERVER_BUSY',
  'TOO_MANY_GIT_HOOKS',
]

/** Returns whether a merge, or a step after it, may succeed when it is tried again soon. */
export function isTemporary({ reason }: DomainError): boolean {
  return TEMPORARY.includes(reason)
}
