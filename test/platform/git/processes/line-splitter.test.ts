import { describe, expect, it } from 'vitest'
import { lineSplitter } from '../../../../src/platform/git/processes/byte-reader.ts'

describe('a line splitter', () => {
  it.each([
    ['lines of one chunk', ['a\nbc\n\n'], ['a', 'bc', '']],
    ['a line over three chunks', ['a', 'b', 'c\nd\n'], ['abc', 'd']],
    ['no last line without an end', ['a\nb'], ['a']],
    ['long lines, cut', ['abcdef\nabcd', 'efg\nx\n'], ['abcde', 'abcde', 'x']],
    ['empty chunks', ['', 'a', '', '\n'], ['a']],
  ])('gives %s', (_, chunks, expected) => {
    const split = lineSplitter(5)
    expect(chunks.flatMap((chunk) => split(Buffer.from(chunk))).map(String)).toEqual(expected)
  })
})
