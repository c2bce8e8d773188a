import type { MixedPart } from './template.ts'

/**
 * Splits the decoded text of a segment along the parts of a mixed segment and returns the values of
 * its variables, in order, or `undefined` if the text does not fit. No value is empty, a variable
 * with alternatives has one of them, and every literal stands as far right as the whole allows, the
 * last literal first.
 *
 * Works from the right end and tries the places of a literal from right to left. A place that
 * failed once is never tried again, so the time is linear in the length of the text, whatever the
 * text is.
 */
export function splitMixed(parts: readonly MixedPart[], text: string): string[] | undefined {
  const search = new MixedSearch(parts, text)
  return search.fits(parts.length - 1, text.length) ? search.values : undefined
}

class MixedSearch {
  /** Values of the variables found so far, first to last. */
  readonly values: string[] = []
  readonly #parts: readonly MixedPart[]
  readonly #text: string
  /** By part: the largest end at which a free variable is known not to fit. */
  readonly #hopeless: number[]

  constructor(parts: readonly MixedPart[], text: string) {
    this.#parts = parts
    this.#text = text
    this.#hopeless = parts.map(() => 0)
  }

  /**
   * Whether the parts up to `last` fill the text up to `end` exactly. Pushes their values if so.
   */
  fits(last: number, end: number): boolean {
    const part = this.#parts[last]
    if (part === undefined) return end === 0
    if (part.kind === 'literal') {
      return this.#text.endsWith(part.text, end) && this.fits(last - 1, end - part.text.length)
    }
    return part.alternatives.length > 0
      ? this.#alternativeFits(part.alternatives, last, end)
      : this.#freeTextFits(last, end)
  }

  #alternativeFits(alternatives: readonly string[], last: number, end: number): boolean {
    for (const alternative of alternatives) {
      if (this.#text.endsWith(alternative, end) && this.fits(last - 1, end - alternative.length)) {
        this.values.push(alternative)
        return true
      }
    }
    return false
  }

  #freeTextFits(last: number, end: number): boolean {
    const hopeless = this.#hopeless[last] ?? 0
    if (end <= hopeless) return false
    const before = this.#parts[last - 1]
    if (before?.kind !== 'literal') {
      this.values.push(this.#text.slice(0, end))
      return true
    }
    const { length } = before.text
    // The variable takes one character at least, and starts after all places that an earlier,
    // shorter end has tried.
    for (let start = end - 1; start >= length && start >= hopeless; start--) {
      const at = this.#text.lastIndexOf(before.text, start - length)
      if (at < 0) break
      start = at + length
      if (start < hopeless) break
      if (this.fits(last - 2, at)) {
        this.values.push(this.#text.slice(start, end))
        return true
      }
    }
    this.#hopeless[last] = end
    return false
  }
}

/**
 * A text that is equal for two mixed segments exactly if they match the same texts in the same way:
 * names of variables and the order of alternatives do not count.
 */
export function mixedShape(parts: readonly MixedPart[]): string {
  return JSON.stringify(
    parts.map((part) => (part.kind === 'literal' ? part.text : part.alternatives)),
  )
}

/**
 * Orders mixed segments from the most to the least specific: with alternatives first, then more
 * literal characters. What is still equal is ordered by shape, so that the order of declaration
 * never matters.
 */
export function compareMixed(a: readonly MixedPart[], b: readonly MixedPart[]): number {
  const byAlternatives = Number(hasAlternatives(b)) - Number(hasAlternatives(a))
  const byLiterals = literalLength(b) - literalLength(a)
  return byAlternatives || byLiterals || (mixedShape(a) < mixedShape(b) ? -1 : 1)
}

function hasAlternatives(parts: readonly MixedPart[]): boolean {
  return parts.some((part) => part.kind === 'variable' && part.alternatives.length > 0)
}

function literalLength(parts: readonly MixedPart[]): number {
  return parts.reduce((sum, part) => sum + (part.kind === 'literal' ? part.text.length : 0), 0)
}
