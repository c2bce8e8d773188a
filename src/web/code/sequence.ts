/** More comparisons take too long for a page that a person waits for. */
const MAX_COMPARISONS = 250_000

/** Positions of the same element in two lists. */
export type Match = readonly [first: number, second: number]

/**
 * Returns the elements that two lists share, in the order of both: the longest common subsequence.
 * Between long lists, only the same elements at the beginning and at the end are found.
 */
export function matchesOf(first: readonly string[], second: readonly string[]): Match[] {
  const shortest = Math.min(first.length, second.length)
  let start = 0
  while (start < shortest && first[start] === second[start]) start++
  let end = 0
  while (end < shortest - start && first.at(-1 - end) === second.at(-1 - end)) end++
  const middle = longest(
    first.slice(start, first.length - end),
    second.slice(start, second.length - end),
  )
  return [
    ...Array.from({ length: start }, (_, i): Match => [i, i]),
    ...middle.map(([one, other]): Match => [one + start, other + start]),
    ...Array.from(
      { length: end },
      (_, i): Match => [first.length - end + i, second.length - end + i],
    ),
  ]
}

/** The usual table: each cell has the length of the common subsequence of what follows. */
function longest(first: readonly string[], second: readonly string[]): Match[] {
  const [rows, columns] = [first.length, second.length]
  if (rows * columns === 0 || rows * columns > MAX_COMPARISONS) return []
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      lengths[row * width + column] =
        first[row] === second[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const found: Match[] = []
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (first[row] === second[column]) found.push([row++, column++])
    else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return found
}
