import MarkdownIt, { type StateCore, type Token } from 'markdown-it'
import { readMathBlock, readMathSpan } from './math.ts'
import { OPAQUE } from './text-marks.ts'

/**
 * In levels, of which a quote takes one and a list with its item two; what is deeper is left out.
 * More than people nest, and the time that a content takes grows with its depth times its lines.
 */
const MAX_NESTING = 50

/**
 * https://github.github.com/gfm/#task-list-item-marker; what follows may be missing, as in a task
 * not yet written.
 */
const TASK_MARKER = /^\[([ \txX])\](?:\s+|$)/

// Named because the types do not know maxNesting, and refuse it in a literal.
const options = { html: true, maxNesting: MAX_NESTING }
const markdown = new MarkdownIt(options)
// Escapes and character references stay apart from the text around them.
markdown.core.ruler.disable('text_join')
markdown.core.ruler.before('inline', 'task', markTasks)
markdown.block.ruler.before('fence', 'math_block', readMathBlock, {
  alt: ['paragraph', 'reference', 'blockquote', 'list'],
})
markdown.inline.ruler.before('backticks', 'math_inline', readMathSpan)
// Nothing is rendered: where a link leads does not matter, as long as it is one.
markdown.validateLink = () => true
markdown.normalizeLink = (url) => url
markdown.normalizeLinkText = (text) => text

/**
 * The blocks of a content, as markdown-it's tokens; those of type `inline` have their spans as
 * children.
 */
export function parseMarkdown(content: string): readonly Token[] {
  return markdown.parse(content, {})
}

/** Takes the markers of task list items out of their text, and notes them for taskOf. */
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

/** Whether the text of a block is a task. */
export function taskOf(token: Token): 'done' | 'open' | undefined {
  return token.meta ?? undefined
}

/** The text of one block. */
export interface BlockText {
  /**
   * As it reads when rendered, line breaks apart. Images read as their descriptions, raw HTML as
   * nothing.
   */
  readonly plain: string
  /**
   * Only what is ordinary text, for scanText: links, images, code, mathematics and raw HTML are
   * blanks, and what is escaped and what marks emphasis is OPAQUE.
   */
  readonly running: string
  readonly hasLink: boolean
  readonly hasCode: boolean
}

/** @param spans the children of an `inline` token. */
export function readText(spans: readonly Token[]): BlockText {
  let running = ''
  let hasLink = false
  let hasCode = false
  // Links do not nest.
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
      // A backslash before what cannot be escaped is just that.
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
