import { InvalidFilterError, MAX_DEPTH, MAX_NODES } from './limits.ts'
import { type Token, tokenise } from './tokens.ts'

/** A parsed filter, before its fields are checked. */
export type Expression =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'identifier'; readonly name: string }
  /** A function, or a method of `target`. */
  | {
      readonly kind: 'call'
      readonly target: Expression | undefined
      readonly name: string
      readonly args: readonly Expression[]
    }
  | { readonly kind: 'not'; readonly operand: Expression }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] }
  | {
      readonly kind: 'comparison'
      readonly operator: RelationalOperator
      readonly left: Expression
      readonly right: Expression
    }
  | {
      readonly kind: 'sum'
      readonly sign: 1 | -1
      readonly left: Expression
      readonly right: Expression
    }

const RELATIONAL_OPERATORS = ['==', '!=', '<', '<=', '>', '>=', 'in'] as const
export type RelationalOperator = (typeof RELATIONAL_OPERATORS)[number]

/**
 * Parses a subset of CEL, with the precedence of CEL: strings, integers, booleans, lists,
 * identifiers, calls of functions and methods, `!`, `+` and `-`, comparisons, `&&` and `||`
 * (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax).
 *
 * @throws InvalidFilterError for any other text, and beyond the limits in `limits.ts`.
 */
export function parseExpression(text: string): Expression {
  const reader: Reader = { text, tokens: tokenise(text), at: 0, depth: 0, nodes: 0 }
  const expression = disjunction(reader)
  if (reader.at < reader.tokens.length) throw new InvalidFilterError(text)
  return expression
}

interface Reader {
  readonly text: string
  readonly tokens: readonly Token[]
  at: number
  depth: number
  nodes: number
}

function disjunction(reader: Reader): Expression {
  return operands(reader, '||', 'or', conjunction)
}

function conjunction(reader: Reader): Expression {
  return operands(reader, '&&', 'and', relation)
}

function operands(
  reader: Reader,
  symbol: string,
  kind: 'and' | 'or',
  operand: (reader: Reader) => Expression,
): Expression {
  const first = operand(reader)
  const all = [first]
  while (accept(reader, symbol)) all.push(operand(reader))
  return all.length === 1 ? first : node(reader, { kind, operands: all })
}

/** Reads one comparison at most. The grammar of CEL allows chains, which compare a boolean. */
function relation(reader: Reader): Expression {
  const left = sum(reader)
  const operator = RELATIONAL_OPERATORS.find((symbol) => accept(reader, symbol))
  return operator ? node(reader, { kind: 'comparison', operator, left, right: sum(reader) }) : left
}

function sum(reader: Reader): Expression {
  let left = unary(reader)
  for (;;) {
    const sign = accept(reader, '+') ? 1 : accept(reader, '-') ? -1 : undefined
    if (!sign) return left
    left = node(reader, { kind: 'sum', sign, left, right: unary(reader) })
  }
}

function unary(reader: Reader): Expression {
  if (accept(reader, '!')) return node(reader, { kind: 'not', operand: nested(reader, unary) })
  if (!accept(reader, '-')) return member(reader)
  const operand = primary(reader)
  if (operand.kind !== 'integer') throw new InvalidFilterError(reader.text)
  return { kind: 'integer', value: -operand.value }
}

function member(reader: Reader): Expression {
  const target = primary(reader)
  if (!accept(reader, '.')) return target
  const method = next(reader)
  if (method.kind !== 'identifier') throw new InvalidFilterError(reader.text)
  expect(reader, '(')
  return node(reader, { kind: 'call', target, name: method.name, args: items(reader, ')') })
}

function primary(reader: Reader): Expression {
  if (accept(reader, '(')) {
    const inner = nested(reader, disjunction)
    expect(reader, ')')
    return inner
  }
  if (accept(reader, '[')) return node(reader, { kind: 'list', items: items(reader, ']') })
  const token = next(reader)
  if (token.kind === 'symbol') throw new InvalidFilterError(reader.text)
  if (token.kind !== 'identifier') return node(reader, token)
  const { name } = token
  if (name === 'true' || name === 'false')
    return node(reader, { kind: 'boolean', value: name === 'true' })
  if (!accept(reader, '(')) return node(reader, token)
  return node(reader, { kind: 'call', target: undefined, name, args: items(reader, ')') })
}

function items(reader: Reader, closing: string): Expression[] {
  const all: Expression[] = []
  if (accept(reader, closing)) return all
  do all.push(nested(reader, disjunction))
  while (accept(reader, ','))
  expect(reader, closing)
  return all
}

function nested(reader: Reader, parse: (reader: Reader) => Expression): Expression {
  if (++reader.depth > MAX_DEPTH) throw new InvalidFilterError(reader.text)
  const inner = parse(reader)
  reader.depth--
  return inner
}

function node(reader: Reader, expression: Expression): Expression {
  if (++reader.nodes > MAX_NODES) throw new InvalidFilterError(reader.text)
  return expression
}

function accept(reader: Reader, symbol: string): boolean {
  const token = reader.tokens[reader.at]
  if (token?.kind !== 'symbol' || token.symbol !== symbol) return false
  reader.at++
  return true
}

function expect(reader: Reader, symbol: string): void {
  if (!accept(reader, symbol)) throw new InvalidFilterError(reader.text)
}

function next(reader: Reader): Token {
  const token = reader.tokens[reader.at++]
  if (!token) throw new InvalidFilterError(reader.text)
  return token
}
