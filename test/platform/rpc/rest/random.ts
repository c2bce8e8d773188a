/** Random numbers that are the same in every run. */
export interface Random {
  /** An integer from 0 up to `limit`, exclusive. */
  below(limit: number): number
  /** One of the items. */
  pick<T>(items: readonly [T, ...T[]]): T
  /** The items in another order. */
  shuffle<T>(items: readonly T[]): T[]
}

/** A generator with a fixed seed: mulberry32, whose period is ample for tests. */
export function seededRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    pick: (items) => items[below(items.length)] ?? items[0],
    shuffle: (items) =>
      items
        .map((item) => ({ item, rank: next() }))
        .sort((a, b) => a.rank - b.rank)
        .map(({ item }) => item),
  }
}
