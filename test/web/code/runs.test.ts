import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { readDiff } from '../../../src/web/code/diff-text.ts'
import {
  type ColouredLines,
  colouredLinesOf,
  divideRuns,
  passagesOf,
  textOfRuns,
} from '../../../src/web/code/runs.ts'

/** What the test uses of highlight.js, whose types would add those of browsers to all tests. */
interface Highlighter {
  highlight(text: string, options: { language: string; ignoreIllegals: boolean }): { value: string }
}

const load = createRequire(import.meta.url)
const highlighter = load('highlight.js/lib/common') as Highlighter

const highlighted = (text: string, language: string) =>
  colouredLinesOf(highlighter.highlight(text, { language, ignoreIllegals: true }).value)

const textOf = (lines: ColouredLines) => lines.map(textOfRuns).join('\n')

describe('the colours of a text', () => {
  it.each([
    ['javascript', `const a = \`x \${b + "<&'"}\`\r\n/* c\n d */ class Foo {}\n`],
    ['xml', '<p title="&amp;lt; &#x27;">\n<script>let x = 1 < 2</script>\n<style>a{}</style></p>'],
    ['markdown', '# A\n\n`<span class="x">` **b** </span>\n'],
    ['python', 'x = """\n<b>\n"""\n\n\n'],
    ['c', ''],
  ])('leave the text as it is, in %s', (language, text) => {
    expect(textOf(highlighted(text, language))).toBe(text)
  })

  it('continue in the next line, and inside each other', () => {
    expect(highlighted('a = f"""x {1}\ny"""', 'python')).toEqual([
      [
        { text: 'a = ', classes: [] },
        { text: 'f"""x ', classes: ['hljs-string'] },
        { text: '{', classes: ['hljs-string', 'hljs-subst'] },
        { text: '1', classes: ['hljs-string', 'hljs-subst', 'hljs-number'] },
        { text: '}', classes: ['hljs-string', 'hljs-subst'] },
      ],
      [{ text: 'y"""', classes: ['hljs-string'] }],
    ])
  })

  it('are divided where the words of a line end', () => {
    const runs = [
      { text: 'const', classes: ['keyword'] },
      { text: ' area', classes: [] },
    ]
    expect(divideRuns(runs, [3, 4, 3])).toEqual([
      [{ text: 'con', classes: ['keyword'] }],
      [
        { text: 'st', classes: ['keyword'] },
        { text: ' a', classes: [] },
      ],
      [{ text: 'rea', classes: [] }],
    ])
    expect(divideRuns([], [2])).toEqual([[]])
  })
})

it('the passages of a diff are its hunks, in the old file where they remove lines', () => {
  const diff = [
    'diff --git a/x b/x',
    '--- a/x',
    '+++ b/x',
    '@@ -1,2 +1,2 @@',
    ' one',
    '-two',
    '+TWO',
    '@@ -8 +8,2 @@',
    ' eight',
    '+nine',
    '\\ No newline at end of file',
  ].join('\n')
  const [file] = readDiff(diff)
  const passages = passagesOf(file?.lines ?? []).map((lines) => lines.map(({ text }) => text))
  expect(passages).toEqual([
    ['one', 'two'],
    ['one', 'TWO'],
    ['eight', 'nine'],
  ])
})
