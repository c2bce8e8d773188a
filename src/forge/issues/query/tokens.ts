import { DomainError, metadataText } from '../../core/errors.ts'

/** The number of characters of a query. */
export const MAX_CHARACTERS = 1024

/** One of the values of a qualifier, as it was written. */
export interface RawValue {
  readonly text: string
  readonly isQuoted: boolean
  readonly position: number
}

/** A part of a query. Positions count characters from 0. */
export type Token = { readonly position: number; readonly text: string } & (
  | { readonly kind: '(' | ')' | 'and' | 'or' | 'not' | 'end' }
  | { readonly kind: 'word'; readonly isPhrase: boolean }
  | { readonly kind: 'qualifier'; readonly values: readonly RawValue[] }
)

/** Returns the error for a query that is not understood. */
export function invalidQuery(position: number, token: string, expected: string): DomainError {
  return new DomainError('INVALID_ISSUE_QUERY', {
    position: String(position),
    token: metadataText(token),
    expected,
  })
}

const OPERATORS: Readonly<Record<string, 'and' | 'or' | 'not'>> = {
  AND: 'and',
  OR: 'or',
  NOT: 'not',
}
const SPACE = /^\s$/u
const ENDS = new Set(['(', ')', '"'])
const QUALIFIER = /^[A-Za-z][A-Za-z-]*$/

/**
 * Splits a query. Each character is looked at once.
 *
 * @throws INVALID_ISSUE_QUERY for a text that is too long, and for a quote without an end.
 */
export function tokensOf(text: string): Token[] {
  const characters = Array.from(text.slice(0, 2 * MAX_CHARACTERS + 2))
  if (characters.length > MAX_CHARACTERS)
    throw invalidQuery(MAX_CHARACTERS, '', `at most ${MAX_CHARACTERS} characters`)
  const reader = new Reader(characters)
  const tokens: Token[] = []
  for (;;) {
    const token = reader.token()
    tokens.push(token)
    if (token.kind === 'end') return tokens
  }
}

/** Reads tokens of a text, from its begin to its end. */
class Reader {
  readonly #characters: readonly string[]
  #at = 0

  constructor(characters: readonly string[]) {
    this.#characters = characters
  }

  token(): Token {
    while (this.#isSpace(this.#at)) this.#at++
    const position = this.#at
    const first = this.#characters[position]
    if (first === undefined) return { kind: 'end', position, text: '' }
    if (first === '(' || first === ')') {
      this.#at++
      return { kind: first, position, text: first }
    }
    if (first === '"') return { kind: 'word', position, text: this.#quoted().text, isPhrase: true }
    const next = this.#characters[position + 1]
    if (first === '-' && next !== undefined && next !== ')' && !SPACE.test(next)) {
      this.#at++
      return { kind: 'not', position, text: '-' }
    }
    return this.#wordOrQualifier(position)
  }

  #wordOrQualifier(position: number): Token {
    const isEnd = (character: string) =>
      SPACE.test(character) || ENDS.has(character) || character === ':'
    const start = this.#until(isEnd)
    if (this.#characters[this.#at] === ':' && QUALIFIER.test(start)) {
      this.#at++
      return { kind: 'qualifier', position, text: start.toLowerCase(), values: this.#values() }
    }
    const rest = this.#until((character) => SPACE.test(character) || ENDS.has(character))
    const text = start + rest
    const operator = Object.hasOwn(OPERATORS, text) ? OPERATORS[text] : undefined
    if (operator !== undefined) return { kind: operator, position, text }
    return { kind: 'word', position, text, isPhrase: false }
  }

  #values(): RawValue[] {
    const values: RawValue[] = []
    for (;;) {
      values.push(this.#value())
      if (this.#characters[this.#at] !== ',') return values
      this.#at++
    }
  }

  #value(): RawValue {
    if (this.#characters[this.#at] === '"') return this.#quoted()
    const position = this.#at
    const text = this.#until(
      (character) => SPACE.test(character) || ENDS.has(character) || character === ',',
    )
    return { text, isQuoted: false, position }
  }

  /** Reads a text in quotes, in which `\"` is a quote and `\\` a backslash. */
  #quoted(): RawValue {
    const position = this.#at++
    const found: string[] = []
    for (;;) {
      const character = this.#characters[this.#at++]
      if (character === undefined) {
        const text = this.#characters.slice(position).join('')
        throw invalidQuery(position, text, 'a closing quote')
      }
      if (character === '"') return { text: found.join(''), isQuoted: true, position }
      const next = this.#characters[this.#at]
      if (character === '\\' && (next === '"' || next === '\\')) {
        found.push(next)
        this.#at++
      } else found.push(character)
    }
  }

  #until(isEnd: (character: string) => boolean): string {
    const start = this.#at
    for (;;) {
      const character = this.#characters[this.#at]
      if (character === undefined || isEnd(character))
        return this.#characters.slice(start, this.#at).join('')
      this.#at++
    }
  }

  #isSpace(at: number): boolean {
    const character = this.#characters[at]
    return character !== undefined && SPACE.test(character)
  }
}
