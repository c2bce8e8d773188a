import { describe, expect, it } from 'vitest'
import {
  MAX_DEPTH,
  MAX_FILTER_CHARACTERS,
  MAX_NODES,
  MAX_STRING_CHARACTERS,
} from '../../../src/platform/filters/limits.ts'
import { type Expression, parseExpression } from '../../../src/platform/filters/parse.ts'

/** Formats an expression in prefix notation. */
function show(expression: Expression): string {
  const all = (expressions: readonly Expression[]) => expressions.map(show).join(' ')
  switch (expression.kind) {
    case 'string':
      return JSON.stringify(expression.text)
    case 'integer':
    case 'boolean':
      return String(expression.value)
    case 'list':
      return `[${all(expression.items)}]`
    case 'identifier':
      return expression.name
    case 'call':
      return `(${expression.target ? `${show(expression.target)}.` : ''}${expression.name} ${all(expression.args)})`
    case 'not':
      return `(not ${show(expression.operand)})`
    case 'and':
    case 'or':
      return `(${expression.kind} ${all(expression.operands)})`
    case 'comparison':
      return `(${expression.operator} ${show(expression.left)} ${show(expression.right)})`
    case 'sum':
      return `(${expression.sign === 1 ? '+' : '-'} ${show(expression.left)} ${show(expression.right)})`
  }
}

describe('parseExpression', () => {
  it.each([
    ['a', 'a'],
    [' \t\r\n\fa ', 'a'],
    ['_a1', '_a1'],
    ['true', 'true'],
    ['12', '12'],
    ['-12', '-12'],
    [`'a"b'`, String.raw`"a\"b"`],
    ['[]', '[]'],
    [`["a", 1, true]`, `["a" 1 true]`],
    ['a == 1', '(== a 1)'],
    ['a<=1', '(<= a 1)'],
    ['a in ["b"]', '(in a ["b"])'],
    // Not the operator `in`.
    ['inner', 'inner'],
    ['now - duration("1h")', '(- now (duration "1h"))'],
    ['a - b + c', '(+ (- a b) c)'],
    ['a.contains("b")', '(a.contains "b")'],
    ['f()', '(f )'],
    ['!a', '(not a)'],
    ['!!a', '(not (not a))'],
    // Negation binds tighter than a comparison, which binds tighter than `&&`, which binds tighter
    // than `||`.
    ['!a == b', '(== (not a) b)'],
    ['a == 1 && b', '(and (== a 1) b)'],
    ['a || b && c || d', '(or a (and b c) d)'],
    ['(a || b) && c', '(and (or a b) c)'],
    ['a > now - duration("1h") && b', '(and (> a (- now (duration "1h"))) b)'],
    ['!(a && b)', '(not (and a b))'],
  ])('%j is %s', (text, meaning) => {
    expect(show(parseExpression(text))).toBe(meaning)
  })

  it.each([
    [String.raw`'\'\"\\\?\`'`, `'"\\?\``],
    [String.raw`"\a\b\f\n\r\t\v"`, '\x07\b\f\n\r\t\v'],
    [String.raw`"\x41\X41\u00e9\U0001F600\101"`, 'AAé😀A'],
  ])('the string %s reads as %j', (text, value) => {
    expect(parseExpression(text)).toEqual({ kind: 'string', text: value })
  })

  it.each([
    ['', 'nothing'],
    ['a b', 'two operands without an operator'],
    ['a ==', 'an operand missing at the end'],
    ['&& a', 'an operand missing at the beginning'],
    ['a == b == c', 'a comparison of a comparison'],
    ['a = 1', 'an operator of another language'],
    ['a & b', 'half an operator'],
    ['(a', 'an open parenthesis'],
    ['a)', 'a closing one too many'],
    ['[1, 2', 'an open list'],
    ['[1,]', 'a list with a hole'],
    ['f(a,)', 'a call with a hole'],
    ['a.b', 'a member that is not called'],
    ['a.b(c).d()', 'a method of a result'],
    ['-a', 'a negative that is no integer'],
    ['1.5', 'a fraction'],
    ['1e3', 'an exponent'],
    ['0x1F', 'a hexadecimal number'],
    ['1u', 'an unsigned number'],
    ['9007199254740993', 'more than a number holds'],
    [`'a`, 'an open string'],
    [`'a\nb'`, 'a line break in a string'],
    [`'a\\`, 'an open escape'],
    [String.raw`'\q'`, 'an unknown escape'],
    [String.raw`'\400'`, 'an octal escape beyond a byte'],
    [String.raw`'\ud800'`, 'a surrogate'],
    [String.raw`'\U00110000'`, 'beyond Unicode'],
    [`r'a'`, 'a raw string'],
    [`'''a'''`, 'a triple-quoted string'],
    ['a ? b : c', 'a condition'],
    ['a // b', 'a comment'],
    ['{a: 1}', 'a map'],
    ['a\0', 'a control character'],
    ['é', 'a letter beyond ASCII'],
  ])('%j is refused: %s', (text) => {
    expect(() => parseExpression(text)).toThrow('INVALID_FILTER')
  })

  it.each([
    ['depth of parentheses', (n: number) => `${'('.repeat(n)}a${')'.repeat(n)}`, MAX_DEPTH],
    // One call goes around the lists, and every list is a node.
    ['depth of lists', (n: number) => `${'['.repeat(n)}${']'.repeat(n)}`, MAX_NODES],
    ['depth of negations', (n: number) => `${'!'.repeat(n)}a`, MAX_NODES - 1],
    ['number of operands', (n: number) => Array(n).fill('a').join('&&'), MAX_NODES - 1],
    ['number of values', (n: number) => `[${Array(n).fill('1').join(',')}]`, MAX_NODES - 1],
    ['length of a string', (n: number) => `'${'a'.repeat(n)}'`, MAX_STRING_CHARACTERS],
    ['length of the text', (n: number) => 'a'.padEnd(n), MAX_FILTER_CHARACTERS],
  ])('has a limit: %s', (_, text, limit) => {
    expect(() => parseExpression(text(limit))).not.toThrow()
    expect(() => parseExpression(text(limit + 1))).toThrow('INVALID_FILTER')
  })

  it('repeats only the beginning of an invalid filter', () => {
    const filter = '('.repeat(MAX_FILTER_CHARACTERS * 2)
    expect(() => parseExpression(filter)).toThrow(
      expect.objectContaining({ filter: filter.slice(0, 512) }),
    )
  })
})
