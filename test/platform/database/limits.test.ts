import { describe, expect, it } from 'vitest'
import { withOpaqueLimits } from '../../../src/platform/database/database.ts'

describe('the limits of a statement', () => {
  it.each([
    ['select 1 limit ?', 'select 1 limit ? + 0'],
    ['select 1 limit ? offset ?', 'select 1 limit ? + 0 offset ?'],
    [
      'select * from (select 1 limit ?) limit ?',
      'select * from (select 1 limit ? + 0) limit ? + 0',
    ],
  ])('are expressions, which SQLite does not compile the values of: %s', (text, expected) => {
    expect(withOpaqueLimits(text)).toBe(expected)
    expect(withOpaqueLimits(expected)).toBe(expected)
  })

  it.each(['select "limit" from a where b = ?', 'select 1 limit 5', 'select 1'])(
    'stay as they are otherwise: %s',
    (text) => {
      expect(withOpaqueLimits(text)).toBe(text)
    },
  )
})
