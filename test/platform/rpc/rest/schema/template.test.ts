import { describe, expect, it } from 'vitest'
import type { Template } from '../../../../../src/platform/rpc/rest/schema/template.ts'
import {
  parseTemplate,
  TemplateError,
} from '../../../../../src/platform/rpc/rest/schema/template.ts'
import { seededRandom } from '../random.ts'

/** Segments in short form: literals as they are, decoded; mixed segments as lists. */
function shape({ segments, verb }: Template): unknown {
  const list = segments.map((segment) => {
    if (segment.kind === 'literal') return segment.text
    if (segment.kind !== 'mixed') return segment.kind === 'single' ? '*' : '**'
    return segment.parts.map((part) =>
      part.kind === 'literal' ? part.text : { alternatives: part.alternatives },
    )
  })
  return verb === '' ? list : [...list, `:${verb}`]
}

function variables(template: Template): string[] {
  return template.variables.map(
    ({ fieldPath, start, end, multi, part }) =>
      `${fieldPath} ${start}-${end}${multi ? ' multi' : ''}${part < 0 ? '' : ` part ${part}`}`,
  )
}

function mistake(text: string, grammar: 'standard' | 'extended'): string {
  try {
    parseTemplate(text, grammar)
  } catch (error) {
    if (error instanceof TemplateError) return error.message
    throw error
  }
  return 'none'
}

describe('parseTemplate', () => {
  it.each<[string, unknown, string[]]>([
    ['/', [], []],
    ['/v1', ['v1'], []],
    ['/v1/messages/{message_id}', ['v1', 'messages', '*'], ['message_id 2-3']],
    [
      '/v1/messages/{message_id}/{sub.subfield}',
      ['v1', 'messages', '*', '*'],
      ['message_id 2-3', 'sub.subfield 3-4'],
    ],
    ['/v1/{name=messages/*}', ['v1', 'messages', '*'], ['name 1-3 multi']],
    [
      '/v1/users/{user_id}/messages/{message_id}',
      ['v1', 'users', '*', 'messages', '*'],
      ['user_id 2-3', 'message_id 4-5'],
    ],
    ['/{x=*}', ['*'], ['x 0-1']],
    ['/{x=**}', ['**'], ['x 0-1 multi']], // multi even if it takes one segment
    ['/{x=fixed}', ['fixed'], ['x 0-1']],
    ['/{x=a/b}/c', ['a', 'b', 'c'], ['x 0-2 multi']],
    ['/a/*/**', ['a', '*', '**'], []],
    ['/{x=a/**}:verb', ['a', '**', ':verb'], ['x 0-2 multi']],
    ['/a:b', ['a', ':b'], []],
    ['/a:%62', ['a', ':b'], []], // literals are compared decoded
    ['/**:v', ['**', ':v'], []],
    ['/%7Euser/a%2Fb/%C3%A9', ['~user', 'a/b', 'é'], []],
    ['/%3A%2A', [':*'], []], // the only way to write them
    ["/-._~!$&'()+,;=@", ["-._~!$&'()+,;=@"], []],
    ['/../.', ['..', '.'], []], // ordinary segments
    ['/__proto__/{constructor}', ['__proto__', '*'], ['constructor 1-2']],
    ['/{_x9.Y}', ['*'], ['_x9.Y 0-1']],
  ])('reads %s in both grammars', (text, segments, expected) => {
    for (const grammar of ['standard', 'extended'] as const) {
      const template = parseTemplate(text, grammar)
      expect(shape(template)).toEqual(segments)
      expect(variables(template)).toEqual(expected)
      expect(template.text).toBe(text)
    }
  })

  it.each<[string, unknown, string[]]>([
    [
      '/pulls/{index}.{kind=diff|patch}',
      ['pulls', [{ alternatives: [] }, '.', { alternatives: ['diff', 'patch'] }]],
      ['index 1-2 part 0', 'kind 1-2 part 1'],
    ],
    [
      '/{base}...{head}',
      [[{ alternatives: [] }, '...', { alternatives: [] }]],
      ['base 0-1 part 0', 'head 0-1 part 1'],
    ],
    ['/v{n}', [['v', { alternatives: [] }]], ['n 0-1 part 0']],
    ['/{k=b|a|cc}', [[{ alternatives: ['a', 'b', 'cc'] }]], ['k 0-1 part 0']], // alone, but with alternatives
    ['/{k=zip}.sig', [[{ alternatives: ['zip'] }, '.sig']], ['k 0-1 part 0']],
    ['/{x}.zip:v', [[{ alternatives: [] }, '.zip'], ':v'], ['x 0-1 part 0']],
    ['/b/{branch=**}/protection', ['b', '**', 'protection'], ['branch 1-2 multi']],
    ['/b/{branch=**/x}/y:v', ['b', '**', 'x', 'y', ':v'], ['branch 1-3 multi']],
    ['/**/{x=fixed}', ['**', 'fixed'], ['x 1-2']], // a variable of literals only is literal
  ])('reads %s in the extended grammar only', (text, segments, expected) => {
    const template = parseTemplate(text, 'extended')
    expect(shape(template)).toEqual(segments)
    expect(variables(template)).toEqual(expected)
    expect(mistake(text, 'standard')).toMatch(/^column \d+: /)
  })

  it.each([
    ['', 'column 1: a template starts with a slash'],
    ['v1', 'column 1: a template starts with a slash'],
    ['//', 'column 2: empty segment'],
    ['/a//b', 'column 4: empty segment'],
    ['/a/', 'column 4: trailing slash'],
    ['/:verb', 'column 2: empty segment'],
    ['/a:', 'column 4: empty verb'],
    ['/a:b:c', 'column 5: unexpected ":"'],
    ['/a:b/c', 'column 5: unexpected "/"'],
    ['/a:{x}', 'column 4: unexpected "{"'],
    ['/{x', 'column 2: unclosed brace'],
    ['/{x=a', 'column 2: unclosed brace'],
    ['/{x=', 'column 5: unexpected end'],
    ['/{', 'column 3: unexpected end'],
    ['/{}', 'column 3: empty field path'],
    ['/{=*}', 'column 3: empty field path'],
    ['/{x=}', 'column 5: empty sub-template'],
    ['/{x=/a}', 'column 5: empty segment in a sub-template'],
    ['/{x=a/}', 'column 7: empty segment in a sub-template'],
    ['/{x=a//b}', 'column 7: empty segment in a sub-template'],
    ['/{x={y}}', 'column 5: a variable inside a variable'],
    ['/{x=a/{y}}', 'column 7: a variable inside a variable'],
    ['/{x=a:b}', 'column 6: unexpected ":"'],
    ['/{x.}', 'column 5: unexpected "}"'],
    ['/{.x}', 'column 3: unexpected "."'],
    ['/{x..y}', 'column 5: unexpected "."'],
    ['/{9x}', 'column 3: unexpected "9"'],
    ['/{x-y}', 'column 4: unexpected "-"'],
    ['/{x }', 'column 4: unexpected " "'],
    ['/***', 'column 4: *** is not a wildcard'],
    ['/{x=***}', 'column 7: *** is not a wildcard'],
    ['/{x=a*}', 'column 6: text beside a wildcard in one segment'],
    ['/{x=**a}', 'column 7: text beside a wildcard in one segment'],
    ['/**/**', 'column 5: ** occurs twice'],
    ['/{x=**}/{y=**}', 'column 12: ** occurs twice'],
    ['/{x}/{x}', 'column 6: x occurs twice'],
    ['/a?b', 'column 3: unexpected "?"'],
    ['/a#b', 'column 3: unexpected "#"'],
    ['/a}', 'column 3: unexpected "}"'],
    ['/a b', 'column 3: unexpected " "'],
    ['/a|b', 'column 3: unexpected "|"'],
    ['/é', 'column 2: unexpected "é"'], // written as %C3%A9
    ['/a\n', 'column 3: unexpected "\\n"'],
    ['/a%', 'column 3: a percent sign without two hex digits'],
    ['/a%4', 'column 3: a percent sign without two hex digits'],
    ['/a%zz', 'column 3: a percent sign without two hex digits'],
    ['/a/b%FF', 'column 4: escapes that are not UTF-8'], // no request could ever match it
  ])('refuses %j in both grammars: %s', (text, expected) => {
    expect(mistake(text, 'standard')).toBe(expected)
    expect(mistake(text, 'extended')).toBe(expected)
  })

  it.each([
    ['/a*', 'column 3: text beside a wildcard in one segment needs the extended grammar'],
    ['/{x}.json', 'column 5: text beside a wildcard in one segment needs the extended grammar'],
    ['/**/a', 'column 5: ** is not the last segment'],
    ['/{x=**/a}', 'column 8: ** is not the last segment'],
    ['/{x=a|b}', 'column 6: alternatives need the extended grammar'],
  ])('refuses %s in the standard grammar: %s', (text, expected) => {
    expect(mistake(text, 'standard')).toBe(expected)
  })

  it.each([
    ['/a*', 'column 3: text beside a wildcard in one segment'],
    ['/*{x}', 'column 3: text beside a wildcard in one segment'],
    ['/{x}{y}', 'column 5: two variables side by side'],
    ['/{x=*}.json', 'column 5: a variable beside text takes literals only'],
    ['/{x=a/b}.json', 'column 5: a variable beside text takes literals only'],
    ['/{x=a|*}', 'column 7: unexpected "*"'],
    ['/{x=a|}', 'column 7: unexpected "}"'],
    ['/{x=*|a}', 'column 6: alternatives are literals'],
    ['/{x=a|b|a}', 'column 9: the same alternative twice'],
    ['/{x=a|b/c}', 'column 8: unexpected "/"'],
    ['/**/*', 'column 5: only literals may follow **'],
    ['/{x=**}/{y}', 'column 9: only literals may follow **'],
    ['/**/{y}.z', 'column 5: only literals may follow **'],
    ['/{x}.{x}', 'column 6: x occurs twice'],
  ])('refuses %s in the extended grammar: %s', (text, expected) => {
    expect(mistake(text, 'extended')).toBe(expected)
  })

  it('reports the column as a number', () => {
    expect(() => parseTemplate('/a//b', 'standard')).toThrow(expect.objectContaining({ column: 4 }))
  })

  it('throws only TemplateError, with a column in the text or after its end', () => {
    const random = seededRandom(1)
    const tokens = [
      '/',
      '/',
      'a',
      'b',
      '*',
      '**',
      '{',
      '}',
      '{x}',
      '{y=',
      '=',
      '.',
      ':',
      '|',
      '%',
      '%41',
      '%FF',
      'é',
      '?',
      '',
    ] as const
    let parsed = 0
    for (let i = 0; i < 20_000; i++) {
      const text = `/${Array.from({ length: random.below(8) }, () => random.pick(tokens)).join('')}`
      try {
        parseTemplate(text, random.pick(['standard', 'extended']))
        parsed++
      } catch (error) {
        expect(error).toBeInstanceOf(TemplateError)
        const { column } = error as TemplateError
        expect(column).toBeGreaterThanOrEqual(1)
        expect(column).toBeLessThanOrEqual(text.length + 1)
      }
    }
    expect(parsed).toBeGreaterThan(500)
  })
})
