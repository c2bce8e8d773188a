import { DomainError } from '../../core/errors.ts'
import type { CopyPlaces } from '../ports.ts'

/** Each holds two processes, some connections, and as much of the disk as the largest push. */
const MAX_COPIES = 16

/** Of which by one account, so that nobody's slow servers take all the places. */
const MAX_COPIES_PER_ACCOUNT = 2

/** @returns places of which none is taken. */
export function createCopyPlaces(): CopyPlaces {
  const takenBy = new Map<number, number>()
  let taken = 0
  return {
    take(userId) {
      const own = takenBy.get(userId) ?? 0
      if (own >= MAX_COPIES_PER_ACCOUNT) throw tooMany(MAX_COPIES_PER_ACCOUNT)
      if (taken >= MAX_COPIES) throw tooMany(MAX_COPIES)
      takenBy.set(userId, own + 1)
      taken += 1
      return () => {
        taken -= 1
        const left = (takenBy.get(userId) ?? 1) - 1
        if (left === 0) takenBy.delete(userId)
        else takenBy.set(userId, left)
      }
    },
  }
}

function tooMany(limit: number): DomainError {
  return new DomainError('TOO_MANY_COPIES', { limit: String(limit) })
}
