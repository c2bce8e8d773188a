import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { OPAQUE, scanText } from '../../../../src/forge/memos/content/text-marks.ts'
import { seededRandom } from '../../../platform/rpc/rest/random.ts'

describe('tags', () => {
  it.each<readonly [text: string, tags: readonly string[]]>([
    ['#tag', ['tag']],
    ['hello#tag', ['tag']],
    ['(#tag), #other.', ['tag', 'other']],
    ['#a#b', ['a', 'b']],
    ['#tag@special', ['tag']],
    ['#', []],
    ['# x', []],
    // A heading of level 2 that lacks its space is not a tag.
    ['##x', []],
    ['a##x', []],
    [
      '#2024_plans #work-notes #science&tech #c++',
      ['2024_plans', 'work-notes', 'science&tech', 'c++'],
    ],
    ['#测试。 #テスト #테스트 #été', ['测试', 'テスト', '테스트', 'été']],
    // Neither case nor normalization form is folded. The second letter is decomposed.
    ['#Work #work #\u00e9 #e\u0301', ['Work', 'work', '\u00e9', 'e\u0301']],
    ["#сім'я #O’Brien", ["сім'я", 'O’Brien']],
    ["'#tag' #x' #'y", ['tag', 'x']],
    ['#test🚀 #👁️ #👨‍👩‍👧 #🇪🇺', ['test🚀', '👁️', '👨‍👩‍👧', '🇪🇺']],
    // A symbol that is not an emoji without a variation selector.
    ['#a© #©', ['a']],
    // The keycap, with and without its variation selector.
    ['#\uFE0F\u20E3 #\u20E3', []],
    ['#\u0301x', []],
    // A soft hyphen, a zero width space, and a joiner that joins nothing.
    ['#a\u00ADb #\u200Bc #d\u200D', ['ab', 'c', 'd']],
    ['#\u200B', []],
    [`#a${OPAQUE}b #${OPAQUE}c`, ['a']],
  ])('%j has %j', (text, tags) => {
    expect(scanText(text)).toEqual({ tags, mentions: [], hasLink: false })
  })

  it.each<readonly [text: string, tags: readonly string[]]>([
    ['#a/b', ['a', 'a/b']],
    ['#a/b/c', ['a', 'a/b', 'a/b/c']],
    ['#a/', ['a']],
    ['#/a', []],
    ['#a//b', ['a']],
    ['#a/\u200Bb', ['a', 'a/b']],
  ])('of levels: %j has %j', (text, tags) => {
    expect(scanText(text).tags).toEqual(tags)
  })

  it.each([
    ['🚀 #🚀 @bob #a🎉/👨‍👩‍👧 #🇩🇪x', ['🚀', 'a🎉', 'a🎉/👨‍👩‍👧', '🇩🇪x']],
    ['https://example.org/🚀 #🎉', ['🎉']],
    ['#1️⃣ #1\u20E3', ['1️⃣', '1']],
    ['#👍🏽 #👍 🏽', ['👍🏽', '👍']],
    ['#\uFDD0 #a\uFDD0b', ['a']],
  ])('keep their own emoji: %j has %j', (text, tags) => {
    expect(scanText(text).tags).toEqual(tags)
  })

  it('have at most 100 code points, and as many levels as fit', () => {
    const emoji = '🚀'.repeat(100)
    expect(scanText(`#${emoji} #${emoji}x #a/${emoji} #${'a/'.repeat(30_000)}`).tags).toEqual([
      emoji,
      'a',
      ...Array.from({ length: 50 }, (_, level) =>
        Array(level + 1)
          .fill('a')
          .join('/'),
      ),
    ])
  })
})

describe('mentions', () => {
  it.each<readonly [text: string, mentions: readonly string[]]>([
    ['@alice', ['alice']],
    ['@Alice-2 @123 @a--b', ['Alice-2', '123', 'a--b']],
    ['(@alice), @bob.', ['alice', 'bob']],
    ['中文@alice', ['alice']],
    ['@@bob', ['bob']],
    ['@alice_x @a.b-c_d', ['alice_x', 'a.b-c_d']],
    // Only between letters and digits, and no two dots.
    ['@alice. @bob... @carol_ @dan.', ['alice', 'bob', 'carol', 'dan']],
    ['@alice..x @.alice @_alice', ['alice']],
    ['foo_@bob foo.@bob', []],
    ['foo@bob foo-@bob 1@bob', []],
    ['@bob@carol', ['bob']],
    ['@alice- @-alice @- @ @álîçé', []],
    [`@${'x'.repeat(40)}`, ['x'.repeat(40)]],
    [`@${'x'.repeat(41)}`, []],
    [`@${'x'.repeat(38)}.xx`, []],
    // The Kelvin sign is a K only when case is ignored.
    ['@bo\u212A', ['bo']],
    [`${OPAQUE}@alice @b${OPAQUE}ob`, ['alice', 'b']],
  ])('%j has %j', (text, mentions) => {
    expect(scanText(text)).toEqual({ tags: [], mentions, hasLink: false })
  })
})

describe('bare addresses', () => {
  it.each([
    'https://example.org',
    'HTTP://example.org/a?b#c',
    'ftp://example.org',
    'http://localhost:8080/@alice/#tag',
    'see:https://example.org/#tag',
    '(www.example.org/#tag)',
    `${OPAQUE}www.example.org`,
    'www.点看.com/@alice',
    // The separators of an address may be escaped or look like emphasis. The address continues.
    `https://example.org/${OPAQUE}#tag@alice`,
    'ada@example.org',
    'foo_@example.org',
    '@ada@example.org',
    '#ada@example.org',
    'mailto:ada+x@mail.example.org.',
    '#https://example.org',
  ])('%j is a link, and has neither tags nor mentions', (text) => {
    expect(scanText(text)).toEqual({ tags: [], mentions: [], hasLink: true })
  })

  it.each([
    'https://',
    'https:// example.org',
    'https://<x',
    'xhttps://example.org',
    'javascript://example.org',
    'www.',
    'xwww.example.org',
    'example.org',
    'ada@example',
    'ada@example.o1',
    'ada@example.org-',
    '@example.org',
    `ada${OPAQUE}@example.org`,
  ])('%j is no link', (text) => {
    expect(scanText(text).hasLink).toBe(false)
  })

  it('end at a space or <', () => {
    expect(scanText('https://example.org/#a #b @c')).toMatchObject({ tags: ['b'], mentions: ['c'] })
    expect(scanText('https://example.org/<#b')).toMatchObject({ tags: ['b'] })
  })
})

describe('a text without addresses', () => {
  // Without dots and colons.
  const characters = [
    'a',
    'B',
    '7',
    'é',
    '-',
    '+',
    '&',
    '_',
    '/',
    '#',
    '@',
    '#',
    '@',
    '!',
    ' ',
    '\n',
    OPAQUE,
  ] as const

  it('has the tags and mentions that a character-by-character reader finds', () => {
    const random = seededRandom(11)
    let tags = 0
    let mentions = 0
    for (let run = 0; run < 20_000; run++) {
      const text = Array.from({ length: random.below(16) }, () => random.pick(characters)).join('')
      const found = scanText(text)
      const expected = { ...readSlowly(text), hasLink: false }
      // An assertion for each text would take most of the time.
      if (!isDeepStrictEqual(found, expected)) expect(found, JSON.stringify(text)).toEqual(expected)
      tags += found.tags.length
      mentions += found.mentions.length
    }
    // Enough texts must contain something.
    expect(tags).toBeGreaterThan(2_000)
    expect(mentions).toBeGreaterThan(1_500)
  })
})

/** Finds what scanText finds in texts of the characters above, by splitting. */
function readSlowly(text: string) {
  const tags: string[] = []
  const mentions: string[] = []
  let previous = ''
  for (const [index, character] of [...text].entries()) {
    const rest = text.slice(index + 1)
    if (character === '#' && previous !== '#') {
      const levels = (rest.split(/[^aB7é\-+&_/]/)[0] ?? '').split('/')
      const end = levels.indexOf('')
      const kept = end < 0 ? levels : levels.slice(0, end)
      tags.push(...kept.map((_, level) => kept.slice(0, level + 1).join('/')))
    }
    if (character === '@' && !'aB7-_'.includes(previous || ' ')) {
      const run = (rest.split(/[^aB7_-]/)[0] ?? '').split('')
      const isInner = (part: string) => part === '-' || part === '_'
      const end = run.findLastIndex((part) => !isInner(part)) + 1
      if (end > 0 && !isInner(run[0] ?? '') && run[end] !== '-')
        mentions.push(run.slice(0, end).join(''))
    }
    previous = character
  }
  return { tags, mentions }
}
