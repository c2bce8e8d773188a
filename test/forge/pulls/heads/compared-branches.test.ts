import { describe, expect, it } from 'vitest'
import { parseHeadName } from '../../../../src/forge/pulls/heads/compared-branches.ts'

describe('the name of a head', () => {
  it.each([
    ['main', { owner: '', repository: '', branch: 'main' }],
    ['fix/1', { owner: '', repository: '', branch: 'fix/1' }],
    ['carol:fix/1', { owner: 'carol', repository: '', branch: 'fix/1' }],
    ['carol/lib:fix/1', { owner: 'carol', repository: 'lib', branch: 'fix/1' }],
    // No repository has a slash, either.
    ['carol/lib/x:fix', { owner: 'carol', repository: 'lib/x', branch: 'fix' }],
    [':fix', { owner: '', repository: '', branch: 'fix' }],
    ['carol:', { owner: 'carol', repository: '', branch: '' }],
    // No branch has a colon, and none is found.
    ['carol:fix:1', { owner: 'carol', repository: '', branch: 'fix:1' }],
    ['', { owner: '', repository: '', branch: '' }],
  ])('%j is read', (text, expected) => {
    expect(parseHeadName(text)).toEqual(expected)
  })
})
