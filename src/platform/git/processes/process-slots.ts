import { FairSlots, type SlotLimits } from '../../concurrency/fair-slots.ts'
import { GitError } from '../core/errors.ts'

/** Creates slots for Git processes. A request that finds none fails with GitError BUSY. */
export function createProcessSlots(limits: Omit<SlotLimits, 'full'>): FairSlots {
  return new FairSlots({ ...limits, full: () => new GitError('BUSY', 'too many processes') })
}
