import { describe, expect, it } from 'vitest'
import { suggestedChange } from '../../../src/web/conversations/suggested-lines.ts'

const HUNK = '@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n'

const comment = (body: string, fromLine: bigint, toLine: bigint, ...lines: string[]) => ({
  body,
  diffHunk: HUNK,
  position: 3n,
  suggestion: { fromLine, toLine, lines },
})

describe('the change of a suggestion', () => {
  it('has the replaced lines, and the text around the block', () => {
    const body = 'So:\r\n\r\n```suggestion:-1+0\r\n2\r\n```\r\nAgreed?'
    expect(suggestedChange(comment(body, 2n, 3n, '2'))).toEqual({
      before: 'So:\r\n\r\n',
      after: '\nAgreed?',
      lines: [
        { kind: 'removed', text: 'zwei' },
        { kind: 'removed', text: 'drei' },
        { kind: 'added', text: '2' },
      ],
    })
  })

  it('removes lines', () => {
    const change = suggestedChange(comment('~~~suggestion\n~~~', 3n, 3n))
    expect(change?.lines).toEqual([{ kind: 'removed', text: 'drei' }])
  })

  it.each([
    ['a line below the hunk', comment('```suggestion:-0+1\nx\n```', 3n, 4n, 'x')],
    ['more lines than the hunk has', comment('```suggestion:-5+0\nx\n```', 0n, 3n, 'x')],
    ['another block before', comment('```suggestion\ny\n```', 3n, 3n, 'x')],
    ['no block', comment('x', 3n, 3n, 'x')],
  ])('is unknown for %s', (_, given) => {
    expect(suggestedChange(given)).toBeUndefined()
  })

  it('of many unclosed blocks is found out soon', () => {
    const body = '```suggestion\r\n'.repeat(3000)
    expect(suggestedChange(comment(body, 3n, 3n, 'x'))).toBeUndefined()
  })
})
