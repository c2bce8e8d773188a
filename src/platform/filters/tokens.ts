import { InvalidFilterError, MAX_FILTER_CHARACTERS, MAX_STRING_CHARACTERS } from './limits.ts'

/** A token of a filter. */
export type Token =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'identifier'; readonly name: string }
  | { readonly kind: 'symbol'; readonly symbol: string }

const BLANKS = /[ \t\r\n\f]+/y
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y
const INTEGER = /[0-9]+(?![A-Za-z0-9_.])/y
const SYMBOL = /&&|\|\||[=!<>]=|[!<>()[\],.+-]/y

/** The characters of a string literal up to its end or the next escape. */
const PLAIN_TEXT: Readonly<Record<string, RegExp>> = { '"': /[^"\\\r\n]*/y, "'": /[^'\\\r\n]*/y }

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
}

/** Escapes of a code point: \xHH, \uHHHH, \UHHHHHHHH and three octal digits. */
const CODE_ESCAPE = /[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y

/**
 * Splits a filter into tokens as CEL does
 * (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax). Comments, floating-point
 * numbers, bytes, and raw and triple-quoted strings are not supported.
 *
 * @throws InvalidFilterError
 */
export function tokenise(text: string): Token[] {
  if (text.length > MAX_FILTER_CHARACTERS) throw new InvalidFilterError(text)
  const source: Source = { text, at: 0 }
  const tokens: Token[] = []
  for (;;) {
    take(BLANKS, source)
    if (source.at === text.length) return tokens
    tokens.push(nextToken(source))
  }
}

interface Source {
  readonly text: string
  at: number
}

function nextToken(source: Source): Token {
  const plainText = PLAIN_TEXT[source.text[source.at] ?? '']
  if (plainText) return { kind: 'string', text: stringLiteral(source, plainText) }
  const name = take(IDENTIFIER, source)?.[0]
  if (name !== undefined)
    return name === 'in' ? { kind: 'symbol', symbol: name } : { kind: 'identifier', name }
  const digits = take(INTEGER, source)?.[0]
  if (digits !== undefined && Number.isSafeInteger(Number(digits)))
    return { kind: 'integer', value: Number(digits) }
  const symbol = take(SYMBOL, source)?.[0]
  if (symbol !== undefined) return { kind: 'symbol', symbol }
  throw new InvalidFilterError(source.text)
}

function stringLiteral(source: Source, plainText: RegExp): string {
  const quote = source.text[source.at++]
  let text = ''
  for (;;) {
    text += take(plainText, source)?.[0] ?? ''
    const character = source.text[source.at++]
    if (character === quote && text.length <= MAX_STRING_CHARACTERS) return text
    if (character !== '\\') throw new InvalidFilterError(source.text)
    text += escapeSequence(source)
  }
}

function escapeSequence(source: Source): string {
  const simple = SIMPLE_ESCAPES[source.text[source.at] ?? '']
  if (simple !== undefined) {
    source.at++
    return simple
  }
  const [, byte, short, long, octal] = take(CODE_ESCAPE, source) ?? []
  const code =
    octal === undefined
      ? Number.parseInt(byte ?? short ?? long ?? '', 16)
      : Number.parseInt(octal, 8)
  const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  if (!isCharacter) throw new InvalidFilterError(source.text)
  return String.fromCodePoint(code)
}

function take(pattern: RegExp, source: Source): RegExpExecArray | null {
  pattern.lastIndex = source.at
  const match = pattern.exec(source.text)
  if (match) source.at = pattern.lastIndex
  return match
}
