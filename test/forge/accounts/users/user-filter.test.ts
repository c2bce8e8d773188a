import { describe, expect, it } from 'vitest'
import { parseUserFilter } from '../../../../src/forge/accounts/users/owners.ts'

describe('parseUserFilter', () => {
  it.each([
    ["username == 'ada'", 'ada'],
    ['username == "ada"', 'ada'],
    ["username=='ada'", 'ada'],
    [" \t\nusername\r\n==\t'ada' ", 'ada'],
    ["'ada' == username", 'ada'],
    ["((username == 'ada'))", 'ada'],
    [`${'('.repeat(200)}username == 'ada'${')'.repeat(200)}`, 'ada'],
    // Escapes of CEL string literals.
    [String.raw`username == 'a\'b'`, "a'b"],
    [String.raw`username == "\x61\u0064\U00000061"`, 'ada'],
    [String.raw`username == "\141\n"`, 'a\n'],
    [`username == 'a"b'`, 'a"b'],
  ])('reads %j as %j', (filter, username) => {
    expect(parseUserFilter(filter)).toBe(username)
  })

  it.each(['', ' ', '\n\t'])('reads %j as no filter', (filter) => {
    expect(parseUserFilter(filter)).toBeUndefined()
  })

  it.each([
    ["username != 'ada'", 'another operator'],
    ["username = 'ada'", 'an operator of another language'],
    ["email == 'a@b'", 'another field'],
    ["Username == 'ada'", 'fields are case-sensitive'],
    ["username == 'ada' && username == 'bob'", 'two comparisons'],
    ["username in ['ada']", 'a list'],
    ["username == ''", 'an empty username'],
    ['username == username', 'no literal'],
    ["'ada' == 'ada'", 'no field'],
    ['username == ada', 'a bare word'],
    ["username == 'ada", 'an open string'],
    ["username == 'a\nda'", 'a line break in a string'],
    ["(username == 'ada'", 'an open parenthesis'],
    ["username == 'ada')", 'a closing one too many'],
    ["username == 'ada' x", 'something after it'],
    [String.raw`username == '\q'`, 'an escape that does not exist'],
    [String.raw`username == '\ud800'`, 'a surrogate'],
    [String.raw`username == '\U00110000'`, 'beyond Unicode'],
    ['(', 'nothing in it'],
    [`username == '${'a'.repeat(600)}'`, 'too long'],
  ])('refuses %j: %s', (filter) => {
    expect(() => parseUserFilter(filter)).toThrow('INVALID_FILTER')
  })
})
