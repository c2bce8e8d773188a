/** A text that has the letters of a query in their order. */
export interface FuzzyMatch {
  readonly text: string
  /** Where the letters of the query are in the text, in units of UTF-16, ascending. */
  readonly positions: readonly number[]
}

/** How long a search keeps the page from other work, in milliseconds. A frame has 16. */
const SLICE_MS = 8

/** Texts between two looks at the clock. */
const TEXTS_OF_SLICE = 500

interface Ranked extends FuzzyMatch {
  readonly rank: number
}

/** Texts to search. */
export class FuzzyTexts {
  readonly #texts: readonly string[]
  readonly #folded: readonly string[]

  constructor(texts: readonly string[]) {
    this.#texts = texts
    this.#folded = texts.map((text) => text.toLowerCase())
  }

  /**
   * Returns the best matches of a query, the best one first. Spaces in the query have no meaning. The
   * search lets the page draw and react meanwhile.
   *
   * @param signal ends the search, which then throws the reason of the signal.
   */
  async find(query: string, limit: number, signal: AbortSignal): Promise<readonly FuzzyMatch[]> {
    const letters = query.toLowerCase().replace(/\s+/g, '')
    let best: Ranked[] = []
    let begun = performance.now()
    for (let i = 0; i < this.#texts.length; i++) {
      if (i % TEXTS_OF_SLICE === 0 && performance.now() - begun > SLICE_MS) {
        await new Promise((resume) => setTimeout(resume))
        signal.throwIfAborted()
        begun = performance.now()
      }
      const text = this.#texts[i] ?? ''
      const found = rankedMatch(text, this.#folded[i] ?? '', letters)
      if (found) best.push(found)
      // Sorted seldom, so that a query of one letter costs no more than a look at each text.
      if (best.length >= limit * 20) best = firstOf(best, limit)
    }
    return firstOf(best, limit)
  }
}

function firstOf(found: readonly Ranked[], limit: number): Ranked[] {
  return found
    .toSorted((a, b) => b.rank - a.rank || a.text.length - b.text.length || compare(a.text, b.text))
    .slice(0, limit)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** What a match is worth: a part in one piece, at the beginning of the name of a file, is the best. */
const NAME_IS = 4000
const NAME_BEGINS = 3000
const NAME_HAS = 2000
const PATH_HAS = 1000
const FOLLOWS = 5
const BEGINS_WORD = 8

/**
 * Returns how good a text matches; undefined if the text lacks a letter.
 *
 * @param folded the text in lower case.
 */
function rankedMatch(text: string, folded: string, letters: string): Ranked | undefined {
  if (letters === '') return { text, positions: [], rank: 0 }
  // A few letters become two units in lower case, so that positions would differ.
  const isAligned = folded.length === text.length
  const name = folded.lastIndexOf('/') + 1
  const inName = folded.indexOf(letters, name)
  const at = inName >= 0 ? inName : folded.lastIndexOf(letters)
  if (at >= 0) {
    const isWhole = at === name && folded.length - name === letters.length
    const rank = at < name ? PATH_HAS : isWhole ? NAME_IS : at === name ? NAME_BEGINS : NAME_HAS
    const positions = isAligned ? Array.from(letters, (_, i) => at + i) : []
    return { text, positions, rank: rank + (beginsWord(text, at) ? BEGINS_WORD : 0) }
  }
  const positions = scattered(folded, letters)
  if (!positions) return undefined
  const rank = positions.reduce(
    (sum, position, i) =>
      sum +
      (position === (positions[i - 1] ?? -2) + 1 ? FOLLOWS : 0) +
      (beginsWord(text, position) ? BEGINS_WORD : 0) +
      (position >= name ? 1 : 0),
    0,
  )
  return { text, positions: isAligned ? positions : [], rank }
}

/** Finds letters from the end, so that those of the name of a file count before those of folders. */
function scattered(folded: string, letters: string): number[] | undefined {
  const positions: number[] = []
  let end = folded.length - 1
  for (let i = letters.length - 1; i >= 0; i--) {
    // A negative start of lastIndexOf() means the first letter.
    const at = end < 0 ? -1 : folded.lastIndexOf(letters.charAt(i), end)
    if (at < 0) return undefined
    positions.push(at)
    end = at - 1
  }
  return positions.reverse()
}

function beginsWord(text: string, at: number): boolean {
  if (at === 0 || /[/_.\- ]/.test(text.charAt(at - 1))) return true
  return /[A-Z]/.test(text.charAt(at)) && /[a-z]/.test(text.charAt(at - 1))
}
