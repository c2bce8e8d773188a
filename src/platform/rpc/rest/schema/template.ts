/**
 * The grammar of a template: that of google/api/http.proto, or an extended one with several
 * variables in a segment and literals after `**`.
 */
export type Grammar = 'standard' | 'extended'

/** One path segment of a template. */
export type Segment =
  /** This text, percent-decoded. */
  | { readonly kind: 'literal'; readonly text: string }
  /** `*`: any non-empty segment. */
  | { readonly kind: 'single' }
  /** Text and variables in one segment (extended grammar). */
  | { readonly kind: 'mixed'; readonly parts: readonly MixedPart[] }
  /** `**`: any number of segments. */
  | { readonly kind: 'multi' }

/** A piece of a mixed segment. */
export type MixedPart =
  | { readonly kind: 'literal'; readonly text: string }
  /** Any non-empty text, or one of `alternatives` if there are any, the shortest first. */
  | { readonly kind: 'variable'; readonly alternatives: readonly string[] }

/** The part of a path with the value of a request field. */
export interface Variable {
  /** Field path as written, in proto names joined by dots. */
  readonly fieldPath: string
  /** Index of the first segment of the variable in the template. */
  readonly start: number
  /** Index after the last one. */
  readonly end: number
  /**
   * Whether the variable has more than one segment or `**`. The value then keeps `%2F` as received.
   */
  readonly multi: boolean
  /** Index among the variables of its mixed segment, or -1 outside of one. */
  readonly part: number
}

/** A parsed template. `segments` includes the sub-templates of variables. */
export interface Template {
  /** The template as written. */
  readonly text: string
  readonly segments: readonly Segment[]
  /** In the order of the text. */
  readonly variables: readonly Variable[]
  /** The verb, percent-decoded and without its colon. Empty without a verb. */
  readonly verb: string
  /** Index of `**` in `segments`, or -1. */
  readonly multiAt: number
}

/** An error in a template. The message starts with the column. */
export class TemplateError extends Error {
  /** 1-based position of the mistake in the template. */
  readonly column: number

  constructor(column: number, reason: string) {
    super(`column ${column}: ${reason}`)
    this.name = 'TemplateError'
    this.column = column
  }
}

/**
 * Parses a path template:
 *
 *     Template  = "/" | "/" Segments [ Verb ]
 *     Segments  = Segment { "/" Segment }
 *     Segment   = "*" | "**" | LITERAL | Variable | Mixed       Mixed only in the extended grammar
 *     Variable  = "{" FieldPath [ "=" Segments ] "}"
 *     FieldPath = IDENT { "." IDENT }
 *     Verb      = ":" LITERAL
 *     Mixed     = part { part }                                 at least one variable, no two side by side
 *     part      = LITERAL | "{" FieldPath [ "=" LITERAL { "|" LITERAL } ] "}"
 *
 * Source: google/api/http.proto, "Path template syntax". Whether field paths exist is a question
 * for the caller. Throws `TemplateError`, and nothing else, for any text outside the grammar.
 */
export function parseTemplate(text: string, grammar: Grammar): Template {
  const scanner = new Scanner(text, grammar)
  scanner.expect('/', 'a template starts with a slash')
  const builder = new TemplateBuilder()
  let verb = ''
  if (!scanner.done()) {
    do builder.addSegment(readPieces(scanner))
    while (scanner.take('/'))
    if (scanner.take(':')) {
      if (scanner.done()) scanner.fail('empty verb')
      verb = scanner.literal()
    }
    if (!scanner.done()) scanner.unexpected()
  }
  const { segments, variables } = builder
  return { text, segments, variables, verb, multiAt: checkMultiSegment(builder, grammar) }
}

/**
 * Checks that `**` occurs at most once and that only literals follow, or nothing in the standard
 * grammar. Returns the index of `**` or -1.
 */
function checkMultiSegment({ segments, columns }: TemplateBuilder, grammar: Grammar): number {
  const multiAt = segments.findIndex((segment) => segment.kind === 'multi')
  if (multiAt < 0) return -1
  for (let i = multiAt + 1; i < segments.length; i++) {
    const column = columns[i] ?? 1
    if (segments[i]?.kind === 'multi') throw new TemplateError(column, '** occurs twice')
    if (grammar === 'standard') throw new TemplateError(column, '** is not the last segment')
    if (segments[i]?.kind !== 'literal')
      throw new TemplateError(column, 'only literals may follow **')
  }
  return multiAt
}

/** A part of the text between two slashes, before it is checked with its neighbours. */
type Piece =
  | { readonly kind: 'plain'; readonly column: number; readonly segment: Segment }
  | {
      readonly kind: 'variable'
      readonly column: number
      readonly fieldPath: string
      /** The segments of the sub-template with their columns. Empty without a sub-template. */
      readonly inner: readonly { column: number; segment: Segment }[]
      /** Texts separated by `|`. Empty without `|`. */
      readonly alternatives: readonly string[]
    }

function readPieces(scanner: Scanner): [Piece, ...Piece[]] {
  if (scanner.done()) scanner.fail('trailing slash')
  if (scanner.at('/') || scanner.at(':')) scanner.fail('empty segment')
  let last = readPiece(scanner)
  const pieces: [Piece, ...Piece[]] = [last]
  while (!scanner.done() && !scanner.at('/') && !scanner.at(':')) {
    const next = readPiece(scanner)
    checkNeighbours(scanner, last, next)
    pieces.push(next)
    last = next
  }
  return pieces
}

function readPiece(scanner: Scanner): Piece {
  if (scanner.at('{')) return readVariable(scanner)
  return { kind: 'plain', column: scanner.column(), segment: readPlainSegment(scanner) }
}

/** Reads `*`, `**` or a literal. */
function readPlainSegment(scanner: Scanner): Segment {
  if (!scanner.take('*')) return { kind: 'literal', text: scanner.literal() }
  if (!scanner.take('*')) return { kind: 'single' }
  if (scanner.at('*')) scanner.fail('*** is not a wildcard')
  return { kind: 'multi' }
}

function readVariable(scanner: Scanner): Piece {
  const column = scanner.column()
  scanner.expect('{', 'a variable starts with {')
  const fieldPath = scanner.fieldPath()
  const inner: { column: number; segment: Segment }[] = []
  const alternatives: string[] = []
  if (scanner.take('=')) {
    do {
      if (scanner.at('/') || scanner.at('}')) {
        scanner.fail(
          inner.length === 0 && scanner.at('}')
            ? 'empty sub-template'
            : 'empty segment in a sub-template',
        )
      }
      if (scanner.at('{')) scanner.fail('a variable inside a variable')
      inner.push({ column: scanner.column(), segment: readPlainSegment(scanner) })
      if (scanner.at('*') || scanner.startsLiteral())
        scanner.fail('text beside a wildcard in one segment')
    } while (scanner.take('/'))
    if (scanner.at('|')) alternatives.push(...readAlternatives(scanner, inner))
  }
  if (scanner.done()) throw new TemplateError(column, 'unclosed brace')
  if (!scanner.take('}')) scanner.unexpected()
  return { kind: 'variable', column, fieldPath, inner, alternatives }
}

function readAlternatives(scanner: Scanner, inner: readonly { segment: Segment }[]): string[] {
  if (scanner.grammar === 'standard') scanner.fail('alternatives need the extended grammar')
  const first = inner[0]?.segment
  if (inner.length !== 1 || first?.kind !== 'literal')
    return scanner.fail('alternatives are literals')
  const alternatives = [first.text]
  while (scanner.take('|')) {
    const column = scanner.column()
    const text = scanner.literal()
    if (alternatives.includes(text)) throw new TemplateError(column, 'the same alternative twice')
    alternatives.push(text)
  }
  return alternatives
}

function checkNeighbours(scanner: Scanner, left: Piece, right: Piece): void {
  const isWildcard = (piece: Piece) => piece.kind === 'plain' && piece.segment.kind !== 'literal'
  if (scanner.grammar === 'standard') {
    throw new TemplateError(
      right.column,
      'text beside a wildcard in one segment needs the extended grammar',
    )
  }
  if (isWildcard(left) || isWildcard(right)) {
    throw new TemplateError(right.column, 'text beside a wildcard in one segment')
  }
  if (left.kind === 'variable' && right.kind === 'variable') {
    throw new TemplateError(right.column, 'two variables side by side')
  }
}

/** Collects segments and their variables. */
class TemplateBuilder {
  readonly segments: Segment[] = []
  /** Column of each segment. */
  readonly columns: number[] = []
  readonly variables: Variable[] = []
  readonly #fieldPaths = new Set<string>()

  addSegment(pieces: readonly [Piece, ...Piece[]]): void {
    const [first] = pieces
    if (pieces.length > 1 || (first.kind === 'variable' && first.alternatives.length > 0))
      this.#addMixed(pieces)
    else if (first.kind === 'plain') this.#push(first.column, first.segment)
    else this.#addVariable(first)
  }

  #push(column: number, segment: Segment): void {
    this.segments.push(segment)
    this.columns.push(column)
  }

  #addVariable({ column, fieldPath, inner }: Piece & { kind: 'variable' }): void {
    const start = this.segments.length
    if (inner.length === 0) this.#push(column, { kind: 'single' })
    for (const { column, segment } of inner) this.#push(column, segment)
    const multi = inner.length > 1 || inner[0]?.segment.kind === 'multi'
    this.#declare(column, { fieldPath, start, end: this.segments.length, multi, part: -1 })
  }

  #addMixed(pieces: readonly [Piece, ...Piece[]]): void {
    const start = this.segments.length
    const parts: MixedPart[] = []
    let part = 0
    for (const piece of pieces) {
      if (piece.kind === 'plain') {
        if (piece.segment.kind === 'literal') parts.push(piece.segment)
      } else {
        parts.push({ kind: 'variable', alternatives: alternativesOf(piece) })
        this.#declare(piece.column, {
          fieldPath: piece.fieldPath,
          start,
          end: start + 1,
          multi: false,
          part: part++,
        })
      }
    }
    this.#push(pieces[0].column, { kind: 'mixed', parts })
  }

  #declare(column: number, variable: Variable): void {
    if (this.#fieldPaths.has(variable.fieldPath)) {
      throw new TemplateError(column, `${variable.fieldPath} occurs twice`)
    }
    this.#fieldPaths.add(variable.fieldPath)
    this.variables.push(variable)
  }
}

function alternativesOf({ inner, alternatives }: Piece & { kind: 'variable' }): string[] {
  const texts = [...alternatives]
  if (texts.length === 0) {
    for (const { column, segment } of inner) {
      if (inner.length > 1 || segment.kind !== 'literal') {
        throw new TemplateError(column, 'a variable beside text takes literals only')
      }
      texts.push(segment.text)
    }
  }
  return texts.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
}

/**
 * The characters of RFC 3986 pchar without `:` and `*`, which have another meaning in a template.
 */
const literalCharacter = /[A-Za-z0-9\-._~!$&'()+,;=@]/
const identifierStart = /[A-Za-z_]/
const identifierCharacter = /[A-Za-z0-9_]/
const hexPair = /^[0-9A-Fa-f]{2}$/

/** A position in the text of a template. */
class Scanner {
  readonly grammar: Grammar
  readonly #text: string
  #position = 0

  constructor(text: string, grammar: Grammar) {
    this.#text = text
    this.grammar = grammar
  }

  done(): boolean {
    return this.#position === this.#text.length
  }

  column(): number {
    return this.#position + 1
  }

  at(character: string): boolean {
    return this.#text[this.#position] === character
  }

  take(character: string): boolean {
    if (!this.at(character)) return false
    this.#position++
    return true
  }

  expect(character: string, reason: string): void {
    if (!this.take(character)) this.fail(reason)
  }

  fail(reason: string): never {
    throw new TemplateError(this.column(), reason)
  }

  unexpected(): never {
    const character = this.#text[this.#position]
    return this.fail(
      character === undefined ? 'unexpected end' : `unexpected ${JSON.stringify(character)}`,
    )
  }

  startsLiteral(): boolean {
    return this.at('%') || literalCharacter.test(this.#text[this.#position] ?? '')
  }

  /** Reads a LITERAL and decodes its escapes. */
  literal(): string {
    const start = this.#position
    while (this.startsLiteral()) {
      if (this.at('%') && !hexPair.test(this.#text.slice(this.#position + 1, this.#position + 3))) {
        this.fail('a percent sign without two hex digits')
      }
      this.#position += this.at('%') ? 3 : 1
    }
    if (this.#position === start) this.unexpected()
    const text = decodeSingle(this.#text.slice(start, this.#position))
    if (text === undefined) throw new TemplateError(start + 1, 'escapes that are not UTF-8')
    return text
  }

  /** Reads a FieldPath. */
  fieldPath(): string {
    const start = this.#position
    do {
      if (!identifierStart.test(this.#text[this.#position] ?? '')) {
        if (this.#position === start && (this.at('}') || this.at('=')))
          this.fail('empty field path')
        this.unexpected()
      }
      while (identifierCharacter.test(this.#text[this.#position] ?? '')) this.#position++
    } while (this.take('.'))
    return this.#text.slice(start, this.#position)
  }
}

/**
 * Decodes a path segment, or the value of a variable in one segment: every escape, including `%2F`
 * (RFC 3986 2.1). A `+` is a plus sign. Returns undefined if a `%` lacks two hex digits or the
 * bytes are not UTF-8.
 */
export function decodeSingle(text: string): string | undefined {
  return text.includes('%') ? decode(text) : text
}

/**
 * Decodes the value of a variable that spans segments: every escape except `%2F` and `%2f`. Slashes
 * in the value are therefore exactly those between segments (google/api/http.proto). Returns
 * undefined for text that `decodeSingle` rejects.
 */
export function decodeMulti(text: string): string | undefined {
  // An escaped slash gets an escaped percent sign, so that decoding returns it as it was.
  return text.includes('%') ? decode(text.replaceAll(/%2([Ff])/g, '%252$1')) : text
}

/**
 * Decodes a name or value of a query string, where `+` is a space (WHATWG URL,
 * application/x-www-form-urlencoded). Returns undefined for text that `decodeSingle` rejects, which
 * browsers would repair.
 */
export function decodeForm(text: string): string | undefined {
  return decodeSingle(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

function decode(text: string): string | undefined {
  try {
    // ECMA-262 19.2.6.5 rejects overlong forms, surrogates and truncated sequences, as UTF-8
    // requires (RFC 3629).
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
