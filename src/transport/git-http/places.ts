/** Places for requests that run git. */
export interface Places {
  /**
   * Takes a place for somebody.
   *
   * @param user number of the account that asks; undefined for everybody without one.
   * @returns what gives it back; undefined when none is left, or none for them.
   */
  take(user: number | undefined): (() => void) | undefined
}

/**
 * Places of which no account has more than half, and neither have all who have none together: whoever opens requests and says
 * nothing more leaves room for others.
 *
 * @param count how many there are.
 */
export function createPlaces(count: number): Places {
  const share = Math.ceil(count / 2)
  const takenBy = new Map<number | undefined, number>()
  let taken = 0
  return {
    take(user) {
      const own = takenBy.get(user) ?? 0
      if (taken >= count || own >= share) return undefined
      taken += 1
      takenBy.set(user, own + 1)
      return () => {
        taken -= 1
        const left = (takenBy.get(user) ?? 1) - 1
        if (left === 0) takenBy.delete(user)
        else takenBy.set(user, left)
      }
    },
  }
}
