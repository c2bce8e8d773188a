import { describe, expect, it } from 'vitest'
import {
  type Condition,
  mapTerms,
  readFilter,
  termsOf,
} from '../../../src/platform/filters/conditions.ts'
import type { FilterSchema } from '../../../src/platform/filters/schema.ts'

/** Terms are texts, so that tests can compare conditions. */
const EVERYTHING: FilterSchema<string> = {
  logic: ['and', 'or', 'not'],
  fields: {
    color: {
      type: 'string',
      operators: ['=', '!=', 'in'],
      term: (values) => (values.includes('ultraviolet') ? undefined : `color:${values}`),
    },
    owner: { type: 'string', operators: ['='], term: ([owner]) => `owner:${owner}` },
    text: { type: 'text', term: (part) => `text:${part}` },
    labels: { type: 'strings', term: (label) => `label:${label}` },
    time: { type: 'time', term: (operator, seconds) => `time${operator}${seconds}` },
    done: { type: 'flag', term: () => 'done' },
  },
}

const NOTHING_JOINED: FilterSchema<string> = { ...EVERYTHING, logic: [] }

const NOW = 1000

function show(condition: Condition<string> | undefined): string {
  if (!condition) return ''
  switch (condition.kind) {
    case 'term':
      return condition.term
    case 'not':
      return `not ${show(condition.condition)}`
    default:
      return `(${condition.conditions.map(show).join(` ${condition.kind} `)})`
  }
}

describe('readFilter', () => {
  it.each([
    [' ', ''],
    ['color == "red"', 'color:red'],
    ['"red" == color', 'color:red'],
    ['color != "red"', 'not color:red'],
    ['color in ["red", "blue"]', 'color:red,blue'],
    ['color in []', 'color:'],
    ['text.contains("a b")', 'text:a b'],
    ['"a" in labels', 'label:a'],
    ['time == 5', 'time=5'],
    ['time != 5', 'time!=5'],
    ['time < now', 'time<1000'],
    ['now > time', 'time<1000'],
    ['5 >= time', 'time<=5'],
    ['time >= now - duration("10s")', 'time>=990'],
    ['done', 'done'],
    ['!done', 'not done'],
    ['done == true', 'done'],
    ['done == false', 'not done'],
    ['done != true', 'not done'],
    ['false != done', 'done'],
    ['done && (time > 5 || !(owner == "ada"))', '(done and (time>5 or not owner:ada))'],
  ])('%j demands %j', (filter, condition) => {
    expect(show(readFilter(filter, EVERYTHING, NOW))).toBe(condition)
  })

  it.each([
    ['size == 5', 'an unknown field'],
    ['constructor == "a"', 'a property of every object'],
    ['__proto__', 'and another'],
    ['true', 'a value alone'],
    ['"red"', 'a string alone'],
    ['"red" == "red"', 'values compared'],
    ['color == owner', 'fields compared'],
    ['color == red', 'a bare word'],
    ['color', 'a string as a flag'],
    ['color == 1', 'a value of another type'],
    ['color < "red"', 'an order of strings'],
    ['color == "ultraviolet"', 'a value that the field does not have'],
    ['color in ["red", 1]', 'a list of mixed types'],
    ['color in "red"', 'a string for a list'],
    ['color in labels', 'a field for a list'],
    ['["red"] in color', 'a list in a field'],
    ['owner != "ada"', 'an operator that the field does not take'],
    ['owner in ["ada"]', 'and another'],
    ['text == "a"', 'a text compared'],
    ['text.startsWith("a")', 'another method'],
    ['text.contains(1)', 'a number in a text'],
    ['text.contains("a", "b")', 'one argument too many'],
    ['contains(text, "a")', 'a function for a method'],
    ['color.contains("a")', 'a method of another field'],
    ['labels == ["a"]', 'a list compared'],
    ['1 in labels', 'a number in a list of strings'],
    ['time == "5"', 'a string for a moment'],
    ['time', 'a moment as a flag'],
    ['time in [5]', 'moments in a list'],
    ['done == 1', 'a number for a flag'],
    ['done < true', 'an order of flags'],
    ['done && size', 'something wrong on the right'],
    ['size || done', 'something wrong on the left'],
    ['!size', 'something wrong behind a negation'],
    ['!done == true', 'a comparison of what is no field'],
  ])('%j is refused: %s', (filter) => {
    expect(() => readFilter(filter, EVERYTHING, NOW)).toThrow('INVALID_FILTER')
  })

  it.each(['done && done', 'done || done', '!done'])(
    '%j is refused where terms may not be joined so',
    (filter) => {
      expect(() => readFilter(filter, NOTHING_JOINED, NOW)).toThrow('INVALID_FILTER')
    },
  )

  it('allows != for a field when negation is not supported', () => {
    expect(show(readFilter('color != "red"', NOTHING_JOINED, NOW))).toBe('not color:red')
  })
})

describe('the terms of a condition', () => {
  const condition = readFilter('done && (!(owner == "ada") || time > 5)', EVERYTHING, NOW)

  it('are listed in the order of the filter', () => {
    expect(condition && termsOf(condition)).toEqual(['done', 'owner:ada', 'time>5'])
  })

  it('are replaced one by one', () => {
    const replaced = condition && mapTerms(condition, (term) => term.toUpperCase())
    expect(show(replaced)).toBe('(DONE and (not OWNER:ADA or TIME>5))')
  })
})
