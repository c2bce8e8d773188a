import { nameKey } from '../../core/names.ts'
import { parseMarkdown, readText, taskOf } from './markdown.ts'
import { scanText } from './text-marks.ts'

/** Properties of a memo's Markdown content. */
export interface MemoAnalysis {
  /** Distinct tags without `#`, as written, in order of appearance. `#a/b` gives `a` and `a/b`. */
  readonly tags: readonly string[]
  /**
   * Usernames without `@`, as first written, in order of appearance. Names that differ only in case
   * appear once.
   */
  readonly mentions: readonly string[]
  /**
   * Whether there is a link of any kind, including bare URLs and email addresses. Images do not
   * count.
   */
  readonly hasLink: boolean
  readonly hasCode: boolean
  readonly hasTaskList: boolean
  readonly hasIncompleteTasks: boolean
  /** The plain text of the first block if that is a heading of level 1, else empty. */
  readonly title: string
  /** The beginning of the plain text. */
  readonly snippet: string
}

/**
 * The maximum length of the content that is analyzed, in UTF-16 code units. The rest is stored and
 * shown only. The worst contents of this length block the event loop for a third of a second, and
 * for some the time grows faster than the length.
 */
const MAX_ANALYZED_LENGTH = 65_536

/**
 * The maximum number of tags of a memo; further ones are ignored. Each tag is a row, and an entry
 * in every response that contains the memo.
 */
const MAX_TAGS = 500

/**
 * The maximum number of mentions in a memo; further ones are ignored. Each mention is a lookup, and
 * possibly a notification.
 */
const MAX_MENTIONS = 100

/**
 * Derives all stored properties of a memo from its content. Never throws.
 *
 * The content is CommonMark 0.31 with tables, strikethrough, task list items and autolinks as in
 * GitHub Flavored Markdown, and with mathematics between dollar signs.
 */
export function analyzeMemo(content: string): MemoAnalysis {
  const tokens = parseMarkdown(content.slice(0, MAX_ANALYZED_LENGTH))
  const blocks: string[] = []
  const tags = new Set<string>()
  const mentions = new Map<string, string>()
  let title = ''
  let hasLink = false
  let hasCode = false
  let hasTaskList = false
  let hasIncompleteTasks = false
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'fence' || token.type === 'code_block') hasCode = true
    if (token.type === 'math_block') blocks.push(token.content)
    if (token.type !== 'inline') continue
    const text = readText(token.children ?? [])
    const marks = scanText(text.running)
    blocks.push(text.plain)
    if (index === 1 && tokens[0]?.tag === 'h1') title = text.plain
    hasLink ||= text.hasLink || marks.hasLink
    hasCode ||= text.hasCode
    hasTaskList ||= taskOf(token) !== undefined
    hasIncompleteTasks ||= taskOf(token) === 'open'
    for (const tag of marks.tags) if (tags.size < MAX_TAGS) tags.add(tag)
    for (const name of marks.mentions) {
      const key = nameKey(name)
      if (mentions.size < MAX_MENTIONS && !mentions.has(key)) mentions.set(key, name)
    }
  }
  return {
    tags: [...tags],
    mentions: [...mentions.values()],
    hasLink,
    hasCode,
    hasTaskList,
    hasIncompleteTasks,
    title,
    snippet: snippetOf(blocks.join(' ')),
  }
}

/** The maximum length of a snippet in code points, without ` ...`. */
const MAX_SNIPPET_LENGTH = 64

/**
 * Returns the beginning of a plain text. Each run of white space becomes one space. A text of more
 * than 64 code points is cut at the last space among them, or after them if there is none, and ends
 * in ` ...`.
 */
export function snippetOf(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  // A code point has at most two code units, so the rest of a long text need not be split.
  const start = [...line.slice(0, 2 * (MAX_SNIPPET_LENGTH + 1))]
  if (start.length <= MAX_SNIPPET_LENGTH) return line
  const cut = start.slice(0, MAX_SNIPPET_LENGTH)
  const blank = cut.lastIndexOf(' ')
  return `${cut.slice(0, blank < 0 ? undefined : blank).join('')} ...`
}
