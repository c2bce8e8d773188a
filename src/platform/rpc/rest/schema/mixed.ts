import type { MixedPart } from './template.ts'

/**
 * Splits the decoded text of a segment at the parts of a mixed segment. Returns the values of its
 * variables in order, or undefined if the text does not match. No value is empty, and a variable
 * with alternatives has one of them. Each literal matches as far right as possible, the last
 * literal first.
 *
 * The search starts at the right end and tries the positions of a literal from right to left. A
 * position that has failed is not tried again, so the time is linear in the length of the text.
 */
export function splitMixed(parts: readonly MixedPart[], text: string): string[] | undefined {
  const search = new MixedSearch(parts, text)
  return search.fits(parts.length - 1, text.length) ? search.values : undefined
}

class MixedSearch {
  /** Values of the variables found so far, in order. */
  readonly values: string[] = []
  readonly #parts: readonly MixedPart[]
  readonly #text: string
  /** By part: the largest end at which a variable without alternatives is known not to match. */
  readonly #hopeless: number[]

  constructor(parts: readonly MixedPart[], text: string) {
    this.#parts = parts
    this.#text = text
    this.#hopeless = parts.map(() => 0)
  }

  /**
   * Returns whether the parts up to `last` match the text up to `end`, and stores their values if
   * so.
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
    // The variable has at least one character and starts after all positions that an earlier,
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
 * Returns a text that is equal for two mixed segments if and only if they match the same texts in
 * the same way. Names of variables and the order of alternatives do not matter.
 */
export function mixedShape(parts: readonly MixedPart[]): string {
  return JSON.stringify(
    parts.map((part) => (part.kind === 'literal' ? part.text : part.alternatives)),
  )
}

/**
 * Compares mixed segments from the most to the least specific: with alternatives first, then with
 * more literal characters, then by shape. The order of declaration does not matter.
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
