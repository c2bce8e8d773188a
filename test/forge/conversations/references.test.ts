import { describe, expect, it } from 'vitest'
import {
  MAX_REFERENCES,
  type Reference,
  referencesInPlain,
  referencesInText,
} from '../../../src/forge/conversations/references.ts'
import { type Random, seededRandom } from '../../platform/rpc/rest/random.ts'

const ROOT = 'https://forge.example:8443/sub'

const brief = ({ repository, number, action }: Reference) =>
  `${action === 'none' ? '' : `${action} `}${repository ? `${repository.owner}/${repository.repo}` : ''}#${number}`

const plain = (text: string) => referencesInPlain(text, ROOT).map(brief)
const markdown = (body: string) => referencesInText({ body }, ROOT).map(brief)

describe('references of a plain text', () => {
  it.each([
    ['#5', ['#5']],
    ['!5', ['#5']],
    ['(#5), [#6] \'#7\' "#8"', ['#5', '#6', '#7', '#8']],
    ['#5: #6; #7, #8. #9? #10!', ['#5', '#6', '#7', '#8', '#9', '#10']],
    ['a#5 /#5 -#5 #5a #5-a #5.a #05 #0 ##5 #5#6 #', []],
    ['bob/tool#5 bob/tool!6 bob/tool#5', ['bob/tool#5', 'bob/tool#6']],
    ['Bob/Tool#5 bob/tool#5', ['Bob/Tool#5']],
    ['/bob/tool#5 a/bob/tool#5 tool#5', []],
    [`${ROOT}/bob/tool/issues/5`, ['bob/tool#5']],
    [`${ROOT}/bob/tool/pulls/5#issuecomment-12.`, ['bob/tool#5']],
    [`${ROOT}/bob/tool/issues/5/x ${ROOT}x/bob/tool/issues/5 ${ROOT}/bob/issues/5`, []],
    ['https://other.example/bob/tool/issues/5', []],
    ['`#5`', []],
    ['#999999999 #1000000000', ['#999999999']],
  ])('of %j are %j', (text, found) => {
    expect(plain(text)).toEqual(found)
  })

  it.each([
    ['closes #1, #2', ['closes #1', '#2']],
    ['closes #1, closes #2', ['closes #1', 'closes #2']],
    ['closes #1 and #2', ['closes #1', '#2']],
    ['closes: #1', ['closes #1']],
    ['closes  #1', ['#1']],
    ['closes:  #1', ['#1']],
    ['closes\n#1', ['#1']],
    ['enclosed #1', ['#1']],
    ['CLOSES #1', ['closes #1']],
    ['(fixes bob/tool#1)', ['closes bob/tool#1']],
    [`Resolved ${ROOT}/bob/tool/issues/1`, ['closes bob/tool#1']],
    ['close #1 fix #2 fixes #3 fixed #4 resolve #5', [1, 2, 3, 4, 5].map((n) => `closes #${n}`)],
    ['closed #6 resolves #7 resolved #8', [6, 7, 8].map((n) => `closes #${n}`)],
    ['reopen #1 reopens #2 reopened #3', [1, 2, 3].map((n) => `reopens #${n}`)],
    ['closes #1, reopens #1, see #1', ['reopens #1']],
    ['closing #1 fixing #2 fi #3', ['#1', '#2', '#3']],
  ])('of %j are %j', (text, found) => {
    expect(plain(text)).toEqual(found)
  })

  it('are at most fifty', () => {
    const many = Array.from({ length: 80 }, (_, i) => `closes #${i + 1}`)
    expect(plain(many.join(' '))).toEqual(many.slice(0, MAX_REFERENCES))
    // The last word counts, also of the fiftieth.
    expect(plain(`${many.join(' ')} reopens #50 reopens #51`).at(-1)).toBe('reopens #50')
  })
})

describe('references of a Markdown text', () => {
  it.each([
    ['- closes #1\n- **#2**\n\n> #3', ['closes #1', '#2', '#3']],
    ['`closes #1` ``#2``', []],
    ['```\ncloses #1\n```\n\n    closes #2\n', []],
    ['<!-- closes #1 -->\n\n<p title="#2">\n\nx <b id=" #3 "> y', []],
    ['[#1](https://other.example) ![#2](/x)', []],
    [
      `closes [the crash](${ROOT}/bob/tool/issues/5), [x](${ROOT}/a/b/pulls/6)`,
      ['closes bob/tool#5', 'a/b#6'],
    ],
    [`<${ROOT}/bob/tool/issues/5>`, ['bob/tool#5']],
    ['\\#1 a`x`#2', []],
    ['**closes** #1', ['closes #1']],
    ['closes\n#1', ['#1']],
    ['# closes #1', ['closes #1']],
    ['| a |\n|---|\n| #4 |', ['#4']],
  ])('of %j are %j', (text, found) => {
    expect(markdown(text)).toEqual(found)
  })

  it('begin with those of the title, which is plain', () => {
    const text = { title: '` #1 ` #2', body: '`#3` reopens #2' }
    expect(referencesInText(text, ROOT).map(brief)).toEqual(['#1', 'reopens #2'])
  })
})

describe('references of any text', () => {
  const PIECES: readonly [string, ...string[]] = [
    '#',
    '!',
    '5',
    '12',
    '/',
    'a',
    'bob/tool',
    ' ',
    '\n',
    '(',
    ')',
    ',',
    ':',
    'closes',
    'fix',
    "'",
    ROOT,
    '/issues/',
    '`',
    '*',
    '\\',
    '[',
    '](',
    '<',
    '>',
    '\uFFFC',
    '\u{1F600}',
  ]
  const textOf = (random: Random) =>
    Array.from({ length: random.below(40) }, () => random.pick(PIECES)).join('')

  it('are found between any lines that have none', () => {
    for (let seed = 0; seed < 2000; seed++) {
      const noise = textOf(seededRandom(seed))
      const found = plain(`${noise}\ncloses z/y#77\n${noise}`)
      expect(found).toContain('closes z/y#77')
      // A second copy of a text names nothing new, whatever is between.
      expect(plain(`${noise}\n${noise}`)).toEqual(plain(noise))
    }
  })

  it('stand in the text as they are found', () => {
    for (let seed = 0; seed < 2000; seed++) {
      const noise = textOf(seededRandom(seed))
      for (const { repository, number } of referencesInText({ body: noise }, ROOT)) {
        expect(noise).toContain(String(number))
        if (repository) expect(noise).toContain(`${repository.owner}/${repository.repo}`)
      }
    }
  })

  it.each([
    'a',
    '#',
    '#1',
    '/',
    'a/',
    'a/a',
    "'",
    "'a",
    'closes ',
    'close',
    'closes:',
    ' closes closes ',
    `${ROOT}/`,
    `${ROOT}/a/a/issues/`,
    '1',
    '#111111111',
    '[',
    '](',
    '**',
    '`',
    '<a ',
  ])('end in linear time: %j', (piece) => {
    const text = piece.repeat(60_000 / piece.length)
    for (let i = 0; i < 5; i++) plain(text)
    plain(`#x ${text}`)
  })
})
