import { describe, expect, it } from 'vitest'
import { isWorkInProgress, mergeabilityOf } from '../../../../src/forge/pulls/lists/pull-views.ts'
import type { PullRequest } from '../../../../src/forge/pulls/schema.ts'

describe('work in progress', () => {
  it.each([
    ['WIP: not yet', true],
    ['wip:not yet', true],
    ['[Wip] not yet', true],
    ['WIP not yet', false],
    ['not yet, WIP:', false],
    [' WIP: not yet', false],
    ['', false],
  ])('is recognised by the title %j: %s', (title, expected) => {
    expect(isWorkInProgress({ settings: { wipPrefixes: ['WIP:', '[WIP]'] } }, title)).toBe(expected)
  })

  it('is recognised by the prefixes that the operator has set', () => {
    const settings = { wipPrefixes: ['Draft:', '🚧'] }
    const said = ['draft: a', '🚧 a', 'WIP: a'].map((title) =>
      isWorkInProgress({ settings }, title),
    )
    expect(said).toEqual([true, true, false])
    expect(isWorkInProgress({ settings: { wipPrefixes: [] } }, 'WIP: a')).toBe(false)
  })
})

describe('the result of a mergeability check', () => {
  const checked = {
    mergeability: 'CONFLICT',
    checked_base: 'base',
    checked_head: 'head',
    head_commit: 'head',
  }

  it.each([
    [{}, 'base', 'CONFLICT'],
    [{}, 'moved', 'CHECKING'],
    [{}, undefined, 'CHECKING'],
    [{ head_commit: 'moved' }, 'base', 'CHECKING'],
    [{ checked_base: null, checked_head: null }, 'base', 'CHECKING'],
    [{ checked_base: null, checked_head: null }, undefined, 'CHECKING'],
  ])('with %j and the base at %s is %s', (changes, baseTip, expected) => {
    // Of the row it looks at nothing else.
    expect(mergeabilityOf({ ...checked, ...changes } as PullRequest, baseTip)).toBe(expected)
  })
})
