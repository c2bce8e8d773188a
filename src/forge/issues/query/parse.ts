import {
  type Condition,
  PARTS,
  type ParsedQuery,
  type Part,
  QUALIFIERS,
  type Qualifier,
  type QuerySort,
  SORT_KEYS,
  type Word,
  type Words,
} from './schema.ts'
import { invalidQuery, type Token, tokensOf } from './tokens.ts'
import { readValue } from './values.ts'

const MAX_TERMS = 32
const MAX_WORDS = 8
const MAX_DEPTH = 8

/** Words whose parts are known at the end of their level. */
type OpenWords = { -readonly [Key in keyof Words]: Words[Key] } & { words: Word[] }

/** What stands between the same parentheses. */
interface Level {
  /** 0 for the whole query. Each pair of parentheses and each negation is a step. */
  readonly depth: number
  /** The words of the level, and those of inner levels without `in:`. */
  readonly words: OpenWords[]
  scope: { readonly parts: readonly Part[]; readonly token: Token } | undefined
}

type QualifierToken = Extract<Token, { kind: 'qualifier' }>

/**
 * Reads a query in the language of issues. The work is linear in the length of the text.
 *
 * @throws INVALID_ISSUE_QUERY with the position, the text there and what was expected
 */
export function parseQuery(text: string): ParsedQuery {
  const parser = new Parser(tokensOf(text))
  return parser.query()
}

/** Reads one query by recursive descent. The depth is limited. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #terms = 0
  #words = 0
  #sort: QuerySort | undefined

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  query(): ParsedQuery {
    const condition = this.#level(0, undefined, 'end')
    return { condition, sort: this.#sort }
  }

  #level(depth: number, outer: Level | undefined, end: 'end' | ')'): Condition | undefined {
    const level: Level = { depth, words: [], scope: undefined }
    const start = this.#token
    const branches: Condition[] = []
    let isOne = true
    for (;;) {
      const branch = this.#all(level)
      const { kind } = this.#token
      isOne &&= kind !== 'or'
      if (branch) branches.push(branch)
      else if (!(isOne && end === 'end' && kind === end)) throw this.#unexpected('a term')
      if (kind !== 'or') break
      this.#at++
    }
    if (this.#token.kind !== end)
      throw this.#unexpected(end === ')' ? 'a closing parenthesis' : 'the end or a term')
    this.#closeLevel(level, outer)
    if (branches.length === 0 && end === ')') throw this.#unexpected('a term', start)
    return joined('or', branches)
  }

  #closeLevel({ scope, words }: Level, outer: Level | undefined): void {
    if (scope === undefined) {
      outer?.words.push(...words)
      return
    }
    if (words.length === 0) throw this.#unexpected('words beside in:', scope.token)
    for (const one of words) one.parts = scope.parts
  }

  /** Reads terms up to `OR` or the end of the level. Undefined if none is a condition. */
  #all(level: Level): Condition | undefined {
    const items: Condition[] = []
    let direct: OpenWords | undefined
    const take = (word: Word) => {
      if (!direct) {
        direct = this.#openWords(level, word)
        items.push(direct)
      } else direct.words.push(word)
    }
    for (;;) {
      const token = this.#token
      if (token.kind === 'or' || token.kind === ')' || token.kind === 'end') break
      if (token.kind === 'and') {
        const next = this.#tokens[this.#at + 1]?.kind
        if (items.length === 0 || next === 'or' || next === 'and' || next === ')' || next === 'end')
          throw this.#unexpected('a term on both sides of AND')
        this.#at++
      } else if (token.kind === 'word') take(this.#word(token))
      else if (token.kind === 'qualifier' && this.#isSetting(token, level)) this.#at++
      else items.push(this.#item(level))
    }
    return joined('and', items)
  }

  /** Reads one item of a level, which is not a bare word. */
  #item(level: Level): Condition {
    const token = this.#token
    const depth = level.depth + 1
    switch (token.kind) {
      case 'not':
        if (depth > MAX_DEPTH) throw this.#unexpected(`at most ${MAX_DEPTH} levels`)
        this.#at++
        return { kind: 'not', item: this.#item({ ...level, depth }) }
      case '(': {
        if (depth > MAX_DEPTH) throw this.#unexpected(`at most ${MAX_DEPTH} levels`)
        this.#at++
        const inner = this.#level(depth, level, ')')
        if (!inner) throw this.#unexpected('a term')
        this.#at++
        return inner
      }
      case 'word':
        return this.#openWords(level, this.#word(token))
      case 'qualifier':
        return this.#term(token)
      default:
        throw this.#unexpected('a term')
    }
  }

  #openWords(level: Level, word: Word): OpenWords {
    const words: OpenWords = { kind: 'words', words: [word], parts: PARTS }
    level.words.push(words)
    return words
  }

  #word({ text, isPhrase }: Extract<Token, { kind: 'word' }>): Word {
    if (text === '') throw this.#unexpected('a word between the quotes')
    this.#count()
    if (++this.#words > MAX_WORDS) throw this.#unexpected(`at most ${MAX_WORDS} words`)
    this.#at++
    return { text, isPhrase }
  }

  #term(token: QualifierToken): Condition {
    const { text: name, values } = token
    if (!isQualifier(name)) throw this.#unexpected(`one of ${Object.keys(QUALIFIERS).join(', ')}`)
    this.#count()
    this.#at++
    return { kind: 'term', qualifier: name, values: values.map((raw) => readValue(name, raw)) }
  }

  /** Takes `in:` and `sort:`, which are no conditions. Returns whether the token is one of them. */
  #isSetting(token: QualifierToken, level: Level): boolean {
    if (token.text !== 'in' && token.text !== 'sort') return false
    this.#count()
    if (token.text === 'in') {
      if (level.scope) throw this.#unexpected('in: once')
      level.scope = { parts: this.#parts(token), token }
      return true
    }
    if (this.#sort || level.depth > 0) throw this.#unexpected('sort: once, outside of parentheses')
    this.#sort = this.#sortOf(token)
    return true
  }

  #parts({ values }: QualifierToken): readonly Part[] {
    const parts: readonly string[] = PARTS
    const named = values.map(({ text }) => text.toLowerCase())
    const unknown = values.find(({ text }) => !parts.includes(text.toLowerCase()))
    if (unknown) throw invalidQuery(unknown.position, `in:${unknown.text}`, PARTS.join(', '))
    return PARTS.filter((part) => named.includes(part))
  }

  #sortOf({ values, position }: QualifierToken): QuerySort {
    const [value, ...more] = values
    const [, name, direction] = /^([a-z]+?)(?:-(asc|desc))?$/i.exec(value?.text ?? '') ?? []
    const key = SORT_KEYS.find((known) => known === name?.toLowerCase())
    if (key === undefined || more.length > 0)
      throw invalidQuery(
        value?.position ?? position,
        `sort:${value?.text ?? ''}`,
        `${SORT_KEYS.join(', ')}, with -asc or -desc`,
      )
    return { key, direction: direction?.toLowerCase() === 'asc' ? 'asc' : 'desc' }
  }

  #count(): void {
    if (++this.#terms > MAX_TERMS) throw this.#unexpected(`at most ${MAX_TERMS} terms`)
  }

  get #token(): Token {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)]
    if (!token) throw new Error('a query has no end')
    return token
  }

  #unexpected(expected: string, token = this.#token): Error {
    const text = token.kind === 'qualifier' ? `${token.text}:` : token.text
    return invalidQuery(token.position, text, expected)
  }
}

function isQualifier(name: string): name is Qualifier {
  return Object.hasOwn(QUALIFIERS, name)
}

/** Joins conditions to one, in which no item of `and` is an `and`, and no item of `or` an `or`. */
function joined(kind: 'and' | 'or', items: readonly Condition[]): Condition | undefined {
  const [only] = items
  if (items.length < 2) return only
  return { kind, items: items.flatMap((item) => (item.kind === kind ? item.items : [item])) }
}
