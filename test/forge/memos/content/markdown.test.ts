import { describe, expect, it } from 'vitest'
import { parseMarkdown } from '../../../../src/forge/memos/content/markdown.ts'

/** Returns the contents of tokens of one type, at any depth. */
function contentsOf(type: string, content: string): string[] {
  return parseMarkdown(content)
    .flatMap((token) => [token, ...(token.children ?? [])])
    .filter((token) => token.type === type)
    .map((token) => token.content)
}

describe('inline mathematics', () => {
  it.each<readonly [content: string, spans: readonly string[]]>([
    ['$x$', ['x']],
    ['a $x$ b $y$', ['x', 'y']],
    ['$x +\ny$', ['x +\ny']],
    ['$$ x $$2', [' x ']],
    ['$$$ x $$ y $$$', [' x $$ y ']],
    ['$x$$ y$', ['x$$ y']],
    ['\\$$x$', ['x']],
    ['$\\alpha *b* `c$` ', ['\\alpha *b* `c']],
    // Like code, mathematics takes precedence over the brackets of links.
    ['[a $](b)$', ['](b)']],
    ['[$x$](b)', ['x']],
    // Sums of money.
    ['$20,000 and $30,000', []],
    ['$ x$', []],
    ['$x $', []],
    ['$x$2', []],
    ['$20 and $30 then $x$', ['20 and $30 then $x']],
    ['$', []],
    ['$$', []],
    ['a $x', []],
    ['`$x$`', []],
    ['$$ x $ y', []],
    ['$$ x\n\n$$ y', []],
  ])('%j has %j', (content, spans) => {
    expect(contentsOf('math_inline', content)).toEqual(spans)
  })
})

describe('mathematics blocks', () => {
  it.each<readonly [content: string, blocks: readonly string[]]>([
    ['$$\nx\n$$', ['x']],
    ['a\n$$\nx\ny\n$$\nb', ['x\ny']],
    ['$$latex\n\nx\n$$$ ', ['\nx']],
    ['$$$\nx\n$$\n$$$', ['x\n$$']],
    ['$$\nx', ['x']],
    ['$$', ['']],
    ['   $$\nx\n   $$', ['x']],
    ['    $$\n    x', []],
    ['$$\nx\n    $$\n$$', ['x\n    $$']],
    ['$\nx\n$', []],
    ['$$ x $$', []],
    ['> $$\n> x\n> $$\n\ny', ['x']],
    // Blocks without a closing fence end with their container.
    ['> $$\n> x\n\ny', ['x']],
    ['- $$\n\n  x\ny', ['\n  x']],
  ])('%j has %j', (content, blocks) => {
    expect(contentsOf('math_block', content)).toEqual(blocks)
  })
})
