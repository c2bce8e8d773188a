import {
  FairSlots,
  type RunInSlot,
  type SlotLimits,
} from '../../../platform/concurrency/fair-slots.ts'
import { DomainError } from '../../core/errors.ts'

/** Each copy takes two processes, some connections, and at most `maxPushBytes` of the disk. */
const MAX_COPIES = 16

/** A copy from a slow server lasts long, and further ones would slow it down. */
const MAX_COPIES_PER_ACCOUNT = 2

/** More copies, each the only one of its account, so that slow ones of a few block nobody. */
const FIRST_COPIES = 16

/** The limits of copies. A copy that exceeds one fails with TOO_MANY_COPIES. */
export const COPY_LIMITS = {
  max: MAX_COPIES,
  firstPlaces: FIRST_COPIES,
  maxPerHolder: MAX_COPIES_PER_ACCOUNT,
  full: (limit: number) => new DomainError('TOO_MANY_COPIES', { limit: String(limit) }),
} satisfies SlotLimits

/** Creates the slots of copies of this process. */
export function createCopySlots(): RunInSlot {
  return new FairSlots(COPY_LIMITS).run
}
