import { describe, expect, it } from 'vitest'
import { parseSubmodules } from '../../../../src/platform/git/objects/submodules.ts'

describe('.gitmodules', () => {
  it.each([
    [
      '[submodule "a"]\n\tpath = x\n\turl = ../a.git\n[submodule "b"]\n\turl = https://e.org/b\n\tpath = y',
      { x: '../a.git', y: 'https://e.org/b' },
    ],
    [
      '[submodule "a"]\n path = "with \\"quotes\\" and \\\\"\n URL=u',
      { 'with "quotes" and \\': 'u' },
    ],
    ['[submodule "a"]\npath = x\n[submodule "b"]\nurl = u', {}],
    ['path\nurl\n= =\n[', {}],
    ['', {}],
  ])('says where submodules come from: %j', (text, expected) => {
    expect(Object.fromEntries(parseSubmodules(text))).toEqual(expected)
  })
})
