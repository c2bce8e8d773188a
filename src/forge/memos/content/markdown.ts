import MarkdownIt, { type StateCore, type Token } from 'markdown-it'
import { readMathBlock, readMathSpan } from './math.ts'
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
export interface BlockText {
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
