import { DomainError } from '../errors.ts'

/** Longest filter read; a username, quoted and in parentheses, is far shorter. */
const MAX_FILTER_CHARACTERS = 512

const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y
const BLANKS = /[ \t\r\n]*/y
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

/** Escapes that name a code point: \xHH, \uHHHH, \UHHHHHHHH and three octal digits. */
const CODE_ESCAPE = /x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y

/**
 * Reads the filter of ListUsers: `username == '<username>'`, operands in either order, in any number of parentheses.
 * String literals and blanks are those of CEL (https://github.com/google/cel-spec, "Syntax").
 *
 * @returns the username, or undefined for a blank filter.
 * @throws INVALID_FILTER for everything else that CEL could say, an empty username included.
 */
export function parseUserFilter(filter: string): string | undefined {
  if (filter.trim() === '') return undefined
  const source = { text: filter, at: 0 }
  const username = filter.length <= MAX_FILTER_CHARACTERS ? comparison(source) : undefined
  skipBlanks(source)
  if (!username || source.at < filter.length) {
    throw new DomainError('INVALID_FILTER', { filter: filter.slice(0, MAX_FILTER_CHARACTERS) })
  }
  return username
}

interface Source {
  readonly text: string
  at: number
}

/** comparison = "(" comparison ")" | operand "==" operand, with the parentheses counted rather than recursed into. */
function comparison(source: Source): string | undefined {
  let depth = 0
  while (token(source, '(')) depth++
  const left = operand(source)
  if (!left || !token(source, '==')) return undefined
  const right = operand(source)
  while (depth > 0 && token(source, ')')) depth--
  if (!right || depth > 0 || left.kind === right.kind) return undefined
  const [field, literal] = left.kind === 'field' ? [left, right] : [right, left]
  return field.text === 'username' ? literal.text : undefined
}

function operand(source: Source): { kind: 'field' | 'literal'; text: string } | undefined {
  skipBlanks(source)
  const quote = source.text[source.at]
  if (quote === '"' || quote === "'") {
    source.at++
    const text = stringLiteral(source, quote)
    return text === undefined ? undefined : { kind: 'literal', text }
  }
  const text = matchAt(IDENTIFIER, source)?.[0]
  return text === undefined ? undefined : { kind: 'field', text }
}

function stringLiteral(source: Source, quote: string): string | undefined {
  let text = ''
  for (;;) {
    const character = source.text[source.at++]
    if (character === undefined || character === '\n' || character === '\r') return undefined
    if (character === quote) return text
    const read = character === '\\' ? escapeSequence(source) : character
    if (read === undefined) return undefined
    text += read
  }
}

function escapeSequence(source: Source): string | undefined {
  const simple = SIMPLE_ESCAPES[source.text[source.at] ?? '']
  if (simple !== undefined) {
    source.at++
    return simple
  }
  const match = matchAt(CODE_ESCAPE, source)
  if (!match) return undefined
  const [, byte, short, long, octal] = match
  const code = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8)
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? undefined : String.fromCodePoint(code)
}

function token(source: Source, text: string): boolean {
  skipBlanks(source)
  if (!source.text.startsWith(text, source.at)) return false
  source.at += text.length
  return true
}

function skipBlanks(source: Source): void {
  matchAt(BLANKS, source)
}

function matchAt(pattern: RegExp, source: Source): RegExpExecArray | null {
  pattern.lastIndex = source.at
  const match = pattern.exec(source.text)
  if (match) source.at = pattern.lastIndex
  return match
}
