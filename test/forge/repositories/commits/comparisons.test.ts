import { describe, expect, it } from 'vitest'
import { parseComparison } from '../../../../src/forge/repositories/commits/commits.ts'

describe('a comparison', () => {
  it.each([
    ['main...topic', 'main', '', '', 'topic'],
    ['main..topic', 'main', '', '', 'topic'],
    ['topic', '', '', '', 'topic'],
    ['main...', 'main', '', '', ''],
    ['v1.0...v1.1', 'v1.0', '', '', 'v1.1'],
    ['feature/x...feature/y', 'feature/x', '', '', 'feature/y'],
    ['main...carol:topic', 'main', 'carol', '', 'topic'],
    ['main...carol/fork:feature/x', 'main', 'carol', 'fork', 'feature/x'],
    // No name has three dots in a row: what follows is for the head to fail on.
    ['a...b...c', 'a', '', '', 'b...c'],
  ])('%s has two sides', (text, base, owner, repository, ref) => {
    expect(parseComparison(text)).toEqual({ base, head: { owner, repository, ref } })
  })
})
