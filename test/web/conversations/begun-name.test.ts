import { describe, expect, it } from 'vitest'
import { begunName, withName } from '../../../src/web/conversations/begun-name.ts'

describe('a name that the user has begun', () => {
  it.each([
    ['@', 1, { sign: '@', part: '', start: 0 }],
    ['Ask @bo', 7, { sign: '@', part: 'bo', start: 4 }],
    ['Ask @bob now', 6, { sign: '@', part: 'b', start: 4 }],
    ['(#1', 3, { sign: '#', part: '1', start: 1 }],
    ['mail@example', 12, undefined],
    ['owner/repo#1', 12, undefined],
    ['@bob ', 5, undefined],
    [`@${'x'.repeat(80)}`, 81, undefined],
  ])('is what is behind a sign: %s', (text, caret, name) => {
    expect(begunName(text, caret)).toEqual(name)
  })

  it('gives way to the whole name', () => {
    const begun = { sign: '@', part: 'b', start: 4 } as const
    expect(withName('Ask @b', begun, 'bob')).toEqual({ text: 'Ask @bob ', caret: 9 })
    expect(withName('Ask @b now', begun, 'bob')).toEqual({ text: 'Ask @bob now', caret: 8 })
  })
})
