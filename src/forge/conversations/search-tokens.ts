import type { SearchTerm } from '../../platform/database/dialects/text-index.ts'
import { tokensOf } from '../../platform/database/text-tokens.ts'

/** The number of characters and of words that a search uses. */
const MAX_CHARACTERS = 256
const MAX_WORDS = 8

/** What a user searches for. */
export interface SearchedText {
  /** Empty if the text has no letters and no digits. */
  readonly terms: readonly SearchTerm[]
  /** The number that the text is, if it is one: what has this number is found, too. */
  readonly number: number | undefined
}

/**
 * Reads the text of a search: words, which are beginnings of words, and phrases of whole words in
 * double quotes.
 *
 * @returns undefined for a text that does not restrict the search. `#` finds nothing.
 */
export function readSearch(q: string): SearchedText | undefined {
  const text = q.trim().slice(0, MAX_CHARACTERS)
  const terms: SearchTerm[] = []
  for (const [, phrase, word = ''] of text.matchAll(/"([^"]*)"?|([^\s"]+)/gu)) {
    const tokens = tokensOf(phrase ?? word)
    if (tokens.length > 0) terms.push({ tokens, isPrefix: phrase === undefined })
    if (terms.length === MAX_WORDS) break
  }
  if (terms.length === 0 && text !== '#') return undefined
  const number = /^#?(\d{1,9})$/.exec(text)?.[1]
  return { terms, number: number === undefined ? undefined : Number(number) }
}
