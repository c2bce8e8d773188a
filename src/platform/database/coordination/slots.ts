import type { RunInSlot, SlotLimits } from '../../concurrency/fair-slots.ts'
import { type Holder, kindOf } from '../../concurrency/holders.ts'
import type { Locks, SharedLock } from './ports.ts'

/** Limits of slots that servers share. Nothing waits for a slot. */
export interface SharedSlotLimits extends Omit<SlotLimits, 'maxWaiting'> {
  readonly firstPlaces: number
  readonly maxPerHolder: number
}

/**
 * Creates slots of all servers, which holders share as in `Shares`: each place of a holder is a lock,
 * and each slot is one. A holder that has no place can take one of the first places too, so that it
 * finds a slot whatever others hold. A call that finds no free slot fails at once.
 *
 * @param name differs between kinds of slots.
 */
export function createSharedSlots(locks: Locks, name: string, limits: SharedSlotLimits): RunInSlot {
  return async (holder, work) => {
    const places = Array.from({ length: limits.maxPerHolder }, (_, i) => i)
    const place = await takeOneOf(locks, `${name} of ${holder}`, places)
    if (!place) throw limits.full(limits.maxPerHolder)
    try {
      const slot = await takeOneOf(locks, name, slotsOf(limits, holder, place.number === 0))
      if (!slot) throw limits.full(limits.max)
      try {
        return await work()
      } finally {
        slot.lock.release()
      }
    } finally {
      place.lock.release()
    }
  }
}

/** Returns the numbers of the slots that a holder can take. */
function slotsOf(
  { max, firstPlaces }: SharedSlotLimits,
  holder: Holder,
  isFirst: boolean,
): number[] {
  const start = kindOf(holder) === 'known' ? max : max + firstPlaces
  return [
    ...Array.from({ length: max }, (_, i) => i),
    ...(isFirst ? Array.from({ length: firstPlaces }, (_, i) => start + i) : []),
  ]
}

async function takeOneOf(
  locks: Locks,
  prefix: string,
  numbers: readonly number[],
): Promise<{ readonly number: number; readonly lock: SharedLock } | undefined> {
  for (const number of numbers) {
    const lock = await locks.tryTake(`${prefix} ${number}`)
    if (lock) return { number, lock }
  }
  return undefined
}
