import { describe, expect, it } from 'vitest'
import { indentationOf } from '../../../src/web/code/indentation.ts'

describe('the indentation of a text', () => {
  it.each([
    ['tabs', 'a {\n\tb {\n\t\tc\n\t}\n}\n', '\t'],
    ['two spaces', 'a:\n  b:\n    c: 1\n    d: 2\n  e: 3\n', '  '],
    ['four spaces', 'def a():\n    if b:\n        return\n\n    c()\n', '    '],
    ['four spaces below a comment block', '/**\n * One.\n */\nint a() {\n    b();\n}\n', '    '],
    ['two spaces for a text without indented lines', 'a\nb\n', '  '],
    ['two spaces for an empty text', '', '  '],
  ])('is %s', (_, text, unit) => {
    expect(indentationOf(text)).toBe(unit)
  })
})
