import type { RefObserver } from '../ports.ts'

/** Returns an observer that takes part in the records of moved refs, and in nothing else. */
export function recordObserver(beginRecord: RefObserver['beginRecord']): RefObserver {
  return {
    beginRecord,
    pushableBranches: async () => new Set<string>(),
    async branchRenamed() {},
    async beforeFetch() {},
    async beforeDeletion() {},
    async duringDeletion() {},
    pushMessages: async () => [],
  }
}
