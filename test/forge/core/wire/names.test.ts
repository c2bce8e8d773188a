import { describe, expect, it } from 'vitest'
import { parseOwnedName, parseUserName, userName } from '../../../../src/forge/core/wire/names.ts'

describe('resource names of accounts', () => {
  it('contain the chosen id, or else the username', () => {
    expect(userName({ user_id: null, username: 'Ada' })).toBe('users/Ada')
    expect(userName({ user_id: 'ada-1', username: 'Ada' })).toBe('users/ada-1')
  })

  it.each(['ada', 'ada@example.org', 'a.b', 'Ä', '1', '..'])(
    'may have the segment %s, that of an odd old account',
    (segment) => {
      expect(parseUserName(`users/${segment}`)).toBe(segment)
    },
  )

  it.each([
    '',
    'ada',
    'users',
    'users/',
    'users/a/b',
    '/users/a',
    'users/ a',
    'users/a\0',
    'users/a%2Fb',
    `users/${'a'.repeat(257)}`,
  ])('do not have the form %j', (name) => {
    expect(() => parseUserName(name)).toThrow('INVALID_NAME')
  })

  it('are prefixes of the resources below', () => {
    expect(parseOwnedName('users/ada/settings/GENERAL')).toEqual({
      user: 'ada',
      rest: 'settings/GENERAL',
    })
  })
})
