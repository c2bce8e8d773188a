import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/forge/core/errors.ts'
import { parseQuery } from '../../../src/forge/issues/query/parse.ts'
import { printQuery } from '../../../src/forge/issues/query/print.ts'
import type { ParsedQuery } from '../../../src/forge/issues/query/schema.ts'
import { seededRandom } from '../../platform/rpc/rest/random.ts'
import { randomQuery } from './random-query.ts'

const canonical = (text: string) => printQuery(parseQuery(text))

describe('a query', () => {
  it.each([
    ['', ''],
    ['  ', ''],
    ['broken pump', 'broken pump'],
    ['IS:open', 'is:open'],
    [
      'is:issue label:a -label:b author:@me sort:updated-asc',
      'is:issue label:a -label:b author:@me sort:updated-asc',
    ],
    ['sort:updated', 'sort:updated-desc'],
    ['a AND b', 'a b'],
    ['a is:pr b', 'a b is:pr'],
    ['a b OR c', 'a b OR c'],
    ['a (b OR c)', 'a (b OR c)'],
    ['a (b)', 'a (b)'],
    ['(a) b', 'a (b)'],
    ['NOT a', '-a'],
    ['NOT (a b)', '-(a b)'],
    ['-(-a)', '--a'],
    ['((is:open))', 'is:open'],
    ['(is:open is:pr) is:draft', 'is:open is:pr is:draft'],
    ['label:"good first",x', 'label:"good first",x'],
    ['label:"none",none', 'label:"none",none'],
    ['label:kind/*', 'label:kind/*'],
    ['label:"kind/*"', 'label:"kind/*"'],
    ['label:"say \\"hi\\""', 'label:"say \\"hi\\""'],
    ['"two words" one', '"two words" one'],
    ['in:title a', 'in:title a'],
    ['a in:body,title b', 'in:title,body a b'],
    ['in:title,body,comments a', 'a'],
    ['(in:title a) b', '(in:title a) b'],
    ['in:title (a OR b)', 'in:title a OR b'],
    ['-', '-'],
    ['12:30', '12:30'],
    ['created:>=2026-05-01', 'created:>=2026-05-01'],
    ['due:*..2026-03-31', 'due:*..2026-03-31'],
    ['comments:>5,1', 'comments:>5,1'],
    ['parent:5', 'parent:#5'],
    ['blocks:own/pub#5', 'blocks:own/pub#5'],
    ['repo:own/pub team:org/all', 'repo:own/pub team:org/all'],
    ['REVIEW:Approved,none -checks:failure', 'review:approved,none -checks:failure'],
  ])('%s is %s', (text, expected) => {
    expect(canonical(text)).toBe(expected)
    expect(parseQuery(expected)).toEqual(parseQuery(text))
  })

  it.each([
    ['foo:bar', 0, 'foo:'],
    ['is:open foo:bar', 8, 'foo:'],
    ['is:opened', 3, 'is:opened'],
    ['is:open,opened', 8, 'is:opened'],
    ['is:', 3, 'is:'],
    ['label:', 6, 'label:'],
    ['label:a,', 8, 'label:'],
    ['"open', 0, '"open'],
    ['label:"open', 6, '"open'],
    ['""', 0, ''],
    ['(a', 2, ''],
    ['a)', 1, ')'],
    ['()', 1, ')'],
    ['a OR', 4, ''],
    ['OR a', 0, 'OR'],
    ['a AND', 2, 'AND'],
    ['AND a', 0, 'AND'],
    ['NOT', 3, ''],
    ['-OR', 1, 'OR'],
    ['sort:size', 5, 'sort:size'],
    ['sort:created sort:updated', 13, 'sort:'],
    ['(sort:created a)', 1, 'sort:'],
    ['-sort:created', 1, 'sort:'],
    ['in:title', 0, 'in:'],
    ['in:title in:body a', 9, 'in:'],
    ['in:code a', 3, 'in:code'],
    ['created:yesterday', 8, 'created:yesterday'],
    ['created:2026-02-31', 8, 'created:2026-02-31'],
    ['created:*..*', 8, 'created:*..*'],
    ['created:7d', 8, 'created:7d'],
    ['comments:x', 9, 'comments:x'],
    ['comments:1..x', 9, 'comments:1..x'],
    ['number:12345678901', 7, 'number:12345678901'],
    ['subscriber:bob', 11, 'subscriber:bob'],
    ['review:"any"', 7, 'review:any'],
    ['checks:error', 7, 'checks:error'],
    ['repo:own', 5, 'repo:own'],
    ['blocks:x', 7, 'blocks:x'],
    ['😀 foo:bar', 2, 'foo:'],
  ])('%s is refused at %i', (text, position, token) => {
    expect(refusal(text)).toMatchObject({ position: String(position), token })
  })

  it('has limits of its characters, terms, words and depth', () => {
    expect(canonical(`"${'x'.repeat(1022)}"`)).toHaveLength(1024)
    expect(refusal('😀'.repeat(1025))).toMatchObject({ position: '1024' })
    const terms = (count: number) => Array(count).fill('is:open').join(' ')
    expect(() => parseQuery(terms(32))).not.toThrow()
    expect(refusal(terms(33)).expected).toBe('at most 32 terms')
    const words = (count: number) => Array(count).fill('word').join(' ')
    expect(() => parseQuery(words(8))).not.toThrow()
    expect(refusal(words(9)).expected).toBe('at most 8 words')
    const deep = (depth: number) => `${'('.repeat(depth)}a${')'.repeat(depth)}`
    expect(() => parseQuery(deep(8))).not.toThrow()
    expect(refusal(deep(9)).expected).toBe('at most 8 levels')
    expect(() => parseQuery(`${'-'.repeat(8)}a`)).not.toThrow()
    expect(refusal(`${'-'.repeat(9)}a`).expected).toBe('at most 8 levels')
  })

  it('means the days, minutes and seconds that it names, in UTC unless it has an offset', () => {
    const day = (text: string) => Date.parse(text) / 1000
    expect(onlyValue('created:2026-05-01')).toMatchObject({
      from: day('2026-05-01T00:00:00Z'),
      to: day('2026-05-01T23:59:59Z'),
    })
    expect(onlyValue('created:>2026-05-01')).toMatchObject({ from: day('2026-05-02T00:00:00Z') })
    expect(onlyValue('created:<=2026-05-01')).toMatchObject({ to: day('2026-05-01T23:59:59Z') })
    expect(onlyValue('created:<2026-05-01+02:00')).toMatchObject({
      to: day('2026-04-30T21:59:59Z'),
    })
    expect(onlyValue('created:2026-05-01T10:00')).toMatchObject({
      from: day('2026-05-01T10:00:00Z'),
      to: day('2026-05-01T10:00:59Z'),
    })
    expect(onlyValue('due:>=2026-05-01T10:00:30+02:00')).toMatchObject({
      from: day('2026-05-01T08:00:30Z'),
    })
    expect(onlyValue('updated:<7d')).toMatchObject({ kind: 'age', is: 'less', seconds: 604_800 })
  })

  it('is the same after it was printed and read again', () => {
    const random = seededRandom(20_261_127)
    for (let n = 0; n < 3000; n += 1) {
      const query = randomQuery(random)
      const text = printQuery(query)
      expect(parseQuery(text), text).toEqual(query)
    }
  })
})

function refusal(text: string): Readonly<Record<string, string>> {
  try {
    parseQuery(text)
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'INVALID_ISSUE_QUERY')
      return error.metadata
    throw error
  }
  throw new Error(`${text} was understood`)
}

function onlyValue(text: string): unknown {
  const { condition }: ParsedQuery = parseQuery(text)
  return condition?.kind === 'term' ? condition.values[0] : undefined
}
