/** A Git request that holds a slot. */
export interface SlotHolder {
  /** The account that the slot counts for, or the network of a peer without an account. */
  readonly key: string
  /** Returns whether the request lasts only because its client reads too slowly. */
  isTooSlow(): boolean
  /** Ends the request. */
  evict(): void
}

/** The slots of requests that run a Git process. */
export interface SessionSlots {
  /**
   * Takes a slot. Requests whose clients read too slowly lose theirs when there is none for this
   * one.
   *
   * @returns a function that gives the slot back; undefined when there is none for this key.
   */
  take(holder: SlotHolder): (() => void) | undefined
}

/**
 * Creates slots that a key gets as long as it holds fewer than are free. The first key gets at most
 * half of all slots, the second half of the rest, and so on, as in the process limits of
 * `src/platform/git/processes/`.
 */
export function createSessionSlots(count: number): SessionSlots {
  const held = new Map<string, number>()
  const holders = new Set<SlotHolder>()
  const release = (holder: SlotHolder) => {
    if (!holders.delete(holder)) return
    const left = (held.get(holder.key) ?? 1) - 1
    if (left === 0) held.delete(holder.key)
    else held.set(holder.key, left)
  }
  const admits = ({ key }: SlotHolder) => (held.get(key) ?? 0) < count - holders.size
  const evictSlow = () => {
    for (const holder of holders) {
      if (!holder.isTooSlow()) continue
      holder.evict()
      release(holder)
    }
  }
  return {
    take(holder) {
      if (!admits(holder)) evictSlow()
      if (!admits(holder)) return undefined
      holders.add(holder)
      held.set(holder.key, (held.get(holder.key) ?? 0) + 1)
      return () => release(holder)
    },
  }
}
