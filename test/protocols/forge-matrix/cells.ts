import type { Expected } from './model.ts'

/** One call of the matrix. */
export interface Cell {
  /** Who, and on what. */
  readonly name: string
  readonly expected: Expected
  /** Makes the call: `ok`, or why not. */
  ask(): Promise<string>
}

/** Calls under way at once. The server is in this process: more would only wait. */
const CONCURRENCY = 8

/**
 * Makes all calls, and returns a line for each of which came something else than it should.
 *
 * @param gates the refusals that keep somebody from what the calls are about.
 */
export async function differencesIn(cells: readonly Cell[], gates: readonly string[]): Promise<string[]> {
  const differences: string[] = []
  await inParallel(cells, async ({ name, expected, ask }) => {
    const outcome = await ask()
    if (!isAsExpected(outcome, expected, gates)) differences.push(`${name}: ${outcome} instead of ${expected}`)
  })
  return differences.sort()
}

/** Does something to every item, a few at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    // The workers take turns at one iterator.
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** Whoever was let through got an answer, or was refused what does not exist or cannot be; a fault of the server is neither. */
function isAsExpected(outcome: string, expected: Expected, gates: readonly string[]): boolean {
  if (expected !== 'let through') return outcome === expected
  return !gates.includes(outcome) && /^(ok|[A-Z_]+)$/.test(outcome)
}
