import { type DiffLine, readDiff } from '../code/diff-text.ts'

/** A text around the block that proposes code, and the lines before and after the proposal. */
export interface SuggestedChange {
  readonly before: string
  readonly after: string
  readonly lines: readonly DiffLine[]
}

interface Proposal {
  readonly body: string
  /** The hunk that ends at the line that the comment is about. */
  readonly diffHunk: string
  /** The number of that line. */
  readonly position: bigint
  readonly suggestion: {
    readonly fromLine: bigint
    readonly toLine: bigint
    readonly lines: readonly string[]
  }
}

/** A block of Markdown that proposes code; see SuggestionService. */
const BLOCK =
  /^ {0,3}(`{3,}|~{3,})[ \t]*suggestion(?::-\d{1,3}\+\d{1,3})?[ \t\r]*\n((?:[^\n]*\n)*?) {0,3}\1[`~]*[ \t\r]*$/m

/**
 * Returns what a suggestion changes. Undefined if the comment does not have the lines that the
 * suggestion replaces, or if its text is unusual; the block says all that is known then.
 */
export function suggestedChange(comment: Proposal): SuggestedChange | undefined {
  const { body, diffHunk, position, suggestion } = comment
  const { fromLine, toLine, lines } = suggestion
  const block = BLOCK.exec(body)
  const proposed = lines.map((line) => `${line}\n`).join('')
  if (block?.[2]?.replaceAll('\r\n', '\n') !== proposed || toLine !== position) return undefined
  const [file] = readDiff(`diff --git a/x b/x\n${diffHunk}`)
  const known = file?.lines.filter(({ newNumber }) => newNumber !== undefined) ?? []
  const count = Number(toLine - fromLine) + 1
  if (known.length < count) return undefined
  return {
    before: body.slice(0, block.index),
    after: body.slice(block.index + block[0].length),
    lines: [
      ...known.slice(-count).map(({ text }): DiffLine => ({ kind: 'removed', text })),
      ...lines.map((text): DiffLine => ({ kind: 'added', text })),
    ],
  }
}
