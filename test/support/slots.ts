import type { FairSlots } from '../../src/platform/concurrency/fair-slots.ts'
import type { Holder } from '../../src/platform/concurrency/holders.ts'

/** Takes all slots that a holder can have. Returns the functions that release them. */
export function takeAll(slots: FairSlots, holder: Holder): (() => void)[] {
  const releases: (() => void)[] = []
  for (let next = slots.tryAcquire({ holder }); next; next = slots.tryAcquire({ holder }))
    releases.push(next)
  return releases
}
