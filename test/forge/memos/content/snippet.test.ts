import { describe, expect, it } from 'vitest'
import { snippetOf } from '../../../../src/forge/memos/content/content.ts'

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
