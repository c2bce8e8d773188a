import { describe, expect, it } from 'vitest'
import { Scopes } from '../../../src/forge/core/scopes.ts'

describe('Scopes.parse', () => {
  it.each<[string[], string]>([
    [[], 'all'],
    [['read:user'], 'read:user'],
    [['write:user', 'read:user'], 'write:user'],
    [['write:user', 'write:user'], 'write:user'],
    [['write:issue', 'read:user'], 'read:user write:issue'],
    [['public-only', 'read:repository'], 'read:repository public-only'],
    // `all` includes everything else except the modifier, which restricts.
    [['read:admin', 'public-only', 'all', 'write:user'], 'all public-only'],
  ])('normalises %j to "%s"', (names, text) => {
    expect(Scopes.parse(names).text).toBe(text)
    expect(Scopes.fromText(text).text).toBe(text)
  })

  it.each<[string[], string]>([
    [['read:everything'], 'read:everything'],
    [['read:user', 'user'], 'user'],
    [['READ:user'], 'READ:user'],
    [[''], ''],
    [['public-only'], 'public-only'],
    [['public-only', 'public-only'], 'public-only'],
    // A property of every object is not a scope.
    [['constructor'], 'constructor'],
  ])('refuses %j', (names, scope) => {
    expect(() => Scopes.parse(names)).toThrow(
      expect.objectContaining({ reason: 'INVALID_SCOPE', metadata: { scope } }),
    )
  })
})

describe('Scopes', () => {
  it.each<[string[], string, boolean]>([
    [['read:user'], 'read:user', true],
    [['write:user'], 'read:user', true],
    [['read:user'], 'write:user', false],
    [['write:user'], 'read:memo', false],
    [['write:user'], 'read:admin', false],
    [['all'], 'write:admin', true],
    [['all', 'public-only'], 'write:admin', true],
  ])('%j includes %s: %s', (names, scope, included) => {
    expect(Scopes.parse(names).includes(scope)).toBe(included)
  })

  it('returns the first scope that others do not grant', () => {
    const held = Scopes.parse(['write:user', 'read:memo'])
    expect(Scopes.parse(['read:user', 'read:memo']).firstOutside(held)).toBeUndefined()
    expect(Scopes.parse(['read:user', 'write:memo']).firstOutside(held)).toBe('write:memo')
    expect(Scopes.parse([]).firstOutside(held)).toBe('all')
    expect(Scopes.parse(['read:user', 'public-only']).firstOutside(held)).toBeUndefined()
  })

  it('can be restricted to public data permanently', () => {
    const scopes = Scopes.parse(['read:user'])
    expect(scopes.publicOnly).toBe(false)
    expect(scopes.asPublicOnly().text).toBe('read:user public-only')
    expect(scopes.asPublicOnly().asPublicOnly().text).toBe('read:user public-only')
    expect(scopes.text).toBe('read:user')
  })

  it('grants nothing for unknown stored scopes', () => {
    expect(Scopes.fromText('read:user read:future').names).toEqual(['read:user'])
  })
})
