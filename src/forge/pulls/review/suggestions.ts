import type { ReviewComment } from '../schema.ts'

/** Code that a comment proposes instead of some lines of a file. */
export interface Suggestion {
  /** The first line to replace, from 1. */
  readonly from: number
  /** The last line to replace. */
  readonly to: number
  /** The proposed lines, without ends. Empty to remove the lines. */
  readonly lines: readonly string[]
}

/** The beginning or end of a fenced block (CommonMark 0.31, section 4.5). */
const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/

/** `suggestion`, or `suggestion:-2+1` for two lines above and one line below, as GitLab has it. */
const INFO = /^suggestion(?::-([0-9]{1,3})\+([0-9]{1,3}))?$/

/** A fenced block of a text in Markdown. */
interface Block {
  readonly indent: number
  readonly fence: string
  readonly info: string
  readonly lines: string[]
}

/**
 * Returns what a comment proposes: the first block of its text with the language `suggestion`, for
 * the line of the comment. Comments on the base and on a whole file propose nothing.
 */
export function suggestionOf({
  body,
  side,
  line,
}: Pick<ReviewComment, 'body' | 'side' | 'line'>): Suggestion | undefined {
  if (side !== 'new' || line === 0) return undefined
  let block: Block | undefined
  for (const text of body.split(/\r?\n/)) {
    const range = block && closes(text, block) ? INFO.exec(block.info) : undefined
    if (block && range) {
      const [, above = '0', below = '0'] = range
      const from = Math.max(line - Number(above), 1)
      return { from, to: line + Number(below), lines: block.lines }
    }
    if (!block) block = openedBy(text)
    else if (range === null) block = undefined
    else block.lines.push(withoutIndent(text, block.indent))
  }
  return undefined
}

function openedBy(text: string): Block | undefined {
  const [, indent = '', fence, rest = ''] = FENCE.exec(text) ?? []
  if (fence === undefined || (fence.startsWith('`') && rest.includes('`'))) return undefined
  return { indent: indent.length, fence, info: rest.trim(), lines: [] }
}

function closes(text: string, { fence }: Block): boolean {
  const [, , own = '', rest = ''] = FENCE.exec(text) ?? []
  return own.startsWith(fence) && rest.trim() === ''
}

/** The lines of a block lose the indentation of its fence, as far as they have it. */
function withoutIndent(text: string, spaces: number): string {
  const [own = ''] = /^ */.exec(text) ?? []
  return text.slice(Math.min(spaces, own.length))
}

/**
 * Replaces lines of a file. New lines end as the replaced ones do, and a file whose last line has no
 * end keeps that.
 *
 * @param suggestions in any order, without common lines.
 * @returns undefined if the file has too few lines.
 */
export function replaceLines(
  content: Buffer,
  suggestions: readonly Suggestion[],
): Buffer | undefined {
  // Latin 1 keeps each byte, whatever the encoding of the file is.
  const lines = content.toString('latin1').split(/(?<=\n)/)
  for (const { from, to, lines: proposed } of suggestions.toSorted((a, b) => b.from - a.from)) {
    const last = lines[to - 1]
    if (!last) return undefined
    const end = endOf(last) || (to > 1 && endOf(lines[to - 2] ?? '')) || '\n'
    const texts = proposed.map((text) => Buffer.from(text).toString('latin1') + end)
    const final = texts.at(-1)
    if (final !== undefined && endOf(last) === '')
      texts[texts.length - 1] = final.slice(0, -end.length)
    lines.splice(from - 1, to - from + 1, ...texts)
  }
  return Buffer.from(lines.join(''), 'latin1')
}

function endOf(line: string): '' | '\n' | '\r\n' {
  if (line.endsWith('\r\n')) return '\r\n'
  return line.endsWith('\n') ? '\n' : ''
}
