/** Whoever takes a place. */
export interface PlaceHolder {
  /** Whom the place is counted for: an account, or the network of a peer without one. */
  readonly key: string
  /** Whether a reader holds the place up. */
  isTooSlow(): boolean
  /** Ends the work. */
  evict(): void
}

/** Places for requests that run git. */
export interface Places {
  /**
   * Takes a place for somebody. Whoever reads too slowly loses one when none is left for them.
   *
   * @returns what gives it back; undefined when none is left, or none for them.
   */
  take(holder: PlaceHolder): (() => void) | undefined
}

/**
 * Places of which everybody gets some as long as they have fewer than are free: one alone gets half
 * of all, a second one half of the rest, and so on, as `Gate` of `src/git/` has it.
 *
 * @param count how many there are.
 */
export function createPlaces(count: number): Places {
  const held = new Map<string, number>()
  const inside = new Set<PlaceHolder>()
  const leave = (holder: PlaceHolder) => {
    if (!inside.delete(holder)) return
    const left = (held.get(holder.key) ?? 1) - 1
    if (left === 0) held.delete(holder.key)
    else held.set(holder.key, left)
  }
  const admits = ({ key }: PlaceHolder) => (held.get(key) ?? 0) < count - inside.size
  const evictSlow = () => {
    for (const holder of inside) {
      if (!holder.isTooSlow()) continue
      holder.evict()
      leave(holder)
    }
  }
  return {
    take(holder) {
      if (!admits(holder)) evictSlow()
      if (!admits(holder)) return undefined
      inside.add(holder)
      held.set(holder.key, (held.get(holder.key) ?? 0) + 1)
      return () => leave(holder)
    },
  }
}
