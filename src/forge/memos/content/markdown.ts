import type { StateBlock, StateInline } from 'markdown-it'
import MarkdownIt, { type StateCore, type Token } from 'markdown-it'
import { OPAQUE } from './text-marks.ts'

/**
 * The maximum nesting level; deeper content is ignored. A quote is one level, and a list with its
 * item two. The limit is needed because the parse time grows with depth times lines.
 */
const MAX_NESTING = 50

/**
 * https://github.github.com/gfm/#task-list-item-marker, but the text after the marker may be empty,
 * as in a task that is not yet written.
 */
const TASK_MARKER = /^\[([ \txX])\](?:\s+|$)/

// A variable, because the types lack `maxNesting` and reject it in an object literal.
const options = { html: true, maxNesting: MAX_NESTING }
const markdown = new MarkdownIt(options)
// Keeps escapes and character references separate from the text around them.
markdown.core.ruler.disable('text_join')
markdown.core.ruler.before('inline', 'task', markTasks)
markdown.block.ruler.before('fence', 'math_block', readMathBlock, {
  alt: ['paragraph', 'reference', 'blockquote', 'list'],
})
markdown.inline.ruler.before('backticks', 'math_inline', readMathSpan)
// Nothing is rendered, so the targets of links do not matter.
markdown.validateLink = () => true
markdown.normalizeLink = (url) => url
markdown.normalizeLinkText = (text) => text

/**
 * Returns the blocks of a content as tokens of markdown-it. Tokens of type `inline` have their
 * spans as children.
 */
export function parseMarkdown(content: string): readonly Token[] {
  return markdown.parse(content, {})
}

/** Removes the markers of task list items from their text, and stores them for `taskOf`. */
function markTasks({ tokens }: StateCore): void {
  for (const [index, token] of tokens.entries()) {
    if (
      tokens[index - 1]?.type !== 'paragraph_open' ||
      tokens[index - 2]?.type !== 'list_item_open'
    )
      continue
    const marker = TASK_MARKER.exec(token.content)
    if (!marker) continue
    token.content = token.content.slice(marker[0].length)
    token.meta = marker[1]?.toLowerCase() === 'x' ? 'done' : 'open'
  }
}

/** Returns the status of a task list item; undefined when the block is not one. */
export function taskOf(token: Token): 'done' | 'open' | undefined {
  return token.meta ?? undefined
}

/** The text of one block. */
interface BlockText {
  /**
   * The text as rendered, without line breaks. An image reads as its description, raw HTML as
   * nothing.
   */
  readonly plain: string
  /**
   * The ordinary text, for `scanText`. Links, images, code, mathematics and raw HTML are spaces;
   * escaped characters and emphasis markers are OPAQUE.
   */
  readonly running: string
  readonly hasLink: boolean
  readonly hasCode: boolean
}

/**
 * Returns the text of one block.
 *
 * @param spans the children of an `inline` token.
 */
export function readText(spans: readonly Token[]): BlockText {
  let running = ''
  let hasLink = false
  let hasCode = false
  // Links cannot be nested.
  let inLink = false
  for (const span of spans) {
    if (span.type === 'code_inline') hasCode = true
    if (span.type === 'link_open') {
      hasLink = true
      inLink = true
      running += ' '
    } else if (span.type === 'link_close') {
      inLink = false
    } else if (!inLink) {
      running += runningText(span)
    }
  }
  return { plain: plainText(spans), running, hasLink, hasCode }
}

function runningText(span: Token): string {
  switch (span.type) {
    case 'text':
      return span.content
    case 'text_special':
      // A backslash before a character that needs no escape is a backslash.
      return span.content === span.markup ? span.content : OPAQUE
    case 'code_inline':
    case 'math_inline':
    case 'html_inline':
    case 'image':
    case 'softbreak':
    case 'hardbreak':
      return ' '
    default:
      return OPAQUE
  }
}

function plainText(spans: readonly Token[]): string {
  return spans
    .map((span) => {
      if (span.type === 'image') return plainText(span.children ?? [])
      if (span.type === 'html_inline') return ''
      return span.type === 'softbreak' || span.type === 'hardbreak' ? ' ' : span.content
    })
    .join('')
}

/**
 * Lengths of runs of dollar signs that no run closes in the rest of a text. They avoid a second
 * search, which would take quadratic time.
 */
interface MathEnv {
  unclosed?: Map<StateInline, Set<number>>
}

/**
 * Inline rule for mathematics, as in https://github.com/micromark/micromark-extension-math: text
 * between two runs of equally many dollar signs, like code between backticks. To exclude sums of
 * money, single dollar signs also follow https://pandoc.org/MANUAL.html#extension-tex_math_dollars:
 * no space on the inner side of either, and no digit after the second.
 */
function readMathSpan(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state
  if (src[pos] !== '$') return false
  const start = endOfRun(src, pos)
  const length = start - pos
  const end = length === 1 && isBlank(src[start]) ? -1 : findClosing(state, start, length)
  if (end < 0) {
    if (!silent) state.pending += src.slice(pos, start)
    state.pos = start
    return true
  }
  if (!silent) state.push('math_inline', 'math', 0).content = src.slice(start, end)
  state.pos = end + length
  return true
}

/** Returns the start of the run that closes the run which ends at `start`; -1 if there is none. */
function findClosing(state: StateInline, start: number, length: number): number {
  const { src } = state
  const env: MathEnv = state.env
  env.unclosed ??= new Map()
  const missing = env.unclosed.get(state) ?? new Set()
  if (missing.has(length)) return -1
  for (let at = src.indexOf('$', start); at >= 0; at = src.indexOf('$', at)) {
    const end = endOfRun(src, at)
    if (
      end - at === length &&
      (length > 1 || (!isBlank(src[at - 1]) && !/[0-9]/.test(src[end] ?? '')))
    )
      return at
    at = end
  }
  env.unclosed.set(state, missing.add(length))
  return -1
}

function isBlank(character: string | undefined): boolean {
  return character === undefined || /\s/.test(character)
}

function endOfRun(src: string, start: number): number {
  let end = start
  while (src[end] === '$') end++
  return end
}

/**
 * An opening fence has two or more dollar signs, and no more of them in its line. A closing fence
 * has at least as many, alone in its line.
 */
const FENCE = /^(\${2,})[^$]*$/
const CLOSING_FENCE = /^(\${2,})[ \t]*$/

/**
 * A line with more indentation is code, https://spec.commonmark.org/0.31.2/#indented-code-blocks.
 */
const MAX_INDENTATION = 3

/**
 * Block rule for mathematics between lines of dollar signs, like fenced code. A block without a
 * closing fence ends with its container.
 */
function readMathBlock(
  state: StateBlock,
  startLine: number,
  endLine: number,
  silent: boolean,
): boolean {
  const fence = matchLine(state, startLine, FENCE)
  if (fence === 0) return false
  if (silent) return true
  let line = startLine + 1
  while (
    line < endLine &&
    isInContainer(state, line) &&
    matchLine(state, line, CLOSING_FENCE) < fence
  )
    line++
  const closed = line < endLine && isInContainer(state, line)
  state.push('math_block', 'math', 0).content = state.getLines(startLine + 1, line, 0, false)
  state.line = closed ? line + 1 : line
  return true
}

/** Returns the number of dollar signs of a fence; 0 if the line does not match the pattern. */
function matchLine(state: StateBlock, line: number, pattern: RegExp): number {
  if (indentation(state, line) > MAX_INDENTATION) return 0
  const start = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
  return pattern.exec(state.src.slice(start, state.eMarks[line]))?.[1]?.length ?? 0
}

/** List items continue while lines are blank or indented. Other containers end at `endLine`. */
function isInContainer(state: StateBlock, line: number): boolean {
  return indentation(state, line) >= 0 || state.isEmpty(line)
}

/** Returns the indentation in columns, relative to the content of the container. */
function indentation(state: StateBlock, line: number): number {
  return (state.sCount[line] ?? 0) - state.blkIndent
}
