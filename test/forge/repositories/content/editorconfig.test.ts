import { describe, expect, it } from 'vitest'
import { editorConfigOf } from '../../../../src/forge/repositories/content/editorconfig.ts'

const FILE = `; https://editorconfig.org
root = true

[*]
Charset = UTF-8
indent_style = space
indent_size = 2
max_line_length=off

[*.{go,mk}]
indent_style = tab
indent_size = unset

[Makefile]
indent_style = tab
indent_size = 8

[lib/**.js]
indent_size = 3

[/docs/*.md]
# A comment.
trim_trailing_whitespace = false

[page{1..3}.html]
end_of_line = CRLF

[{single}.txt]
end_of_line = lf
`

const of = (path: string) => Object.fromEntries(editorConfigOf(FILE, path))

const BASE = {
  charset: 'utf-8',
  indent_style: 'space',
  indent_size: '2',
  tab_width: '2',
  max_line_length: 'off',
}

describe('the properties of a file', () => {
  it.each<[string, object]>([
    ['README', BASE],
    ['Makefile', { ...BASE, indent_style: 'tab', indent_size: '8', tab_width: '8' }],
    ['deep/below/Makefile', { ...BASE, indent_style: 'tab', indent_size: '8', tab_width: '8' }],
    ['lib/a/b.js', { ...BASE, indent_size: '3', tab_width: '3' }],
    ['src/lib/b.js', BASE],
    ['docs/tour.md', { ...BASE, trim_trailing_whitespace: 'false' }],
    ['docs/more/tour.md', BASE],
    ['page3.html', { ...BASE, end_of_line: 'crlf' }],
    ['page4.html', BASE],
    ['{single}.txt', { ...BASE, end_of_line: 'lf' }],
    ['single.txt', BASE],
  ])('of %s', (path, properties) => {
    expect(of(path)).toEqual(properties)
  })

  it('end with "unset"', () => {
    expect(of('main.go')).toEqual({ charset: 'utf-8', indent_style: 'tab', max_line_length: 'off' })
  })

  it.each([
    ['nested braces', `[${'{a,'.repeat(80)}${'}'.repeat(80)}]\na = 1\n`],
    ['wide ranges', '[{0..999999999}{0..999999999}]\na = 1\n'],
    ['many wildcards', `[/${'*a'.repeat(120)}b]\na = 1\n`.repeat(16)],
    ['spaces in a name', `[*]\nx${' '.repeat(65_000)}y\n`],
    ['spaces in a value', `[b]\nx=y${' '.repeat(65_000)}y\n`],
    ['spaces in a section', `[x${' '.repeat(65_000)}y\n`],
  ])('are none in a hostile file: %s', (_, text) => {
    expect(editorConfigOf(text, 'a'.repeat(4000)).size).toBe(0)
  })

  it('are refused if the globs are long', () => {
    const text = `[${'a'.repeat(250)}]\n`.repeat(20)
    expect(() => editorConfigOf(text, 'a')).toThrow('TEXT_TOO_COMPLEX')
  })
})
