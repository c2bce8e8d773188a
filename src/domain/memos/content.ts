import { nameKey } from '../core/names.ts'
import { parseMarkdown, readText, taskOf } from './content/markdown.ts'
import { snippetOf } from './content/snippet.ts'
import { scanText } from './content/text-marks.ts'

/** What a memo's content says, as markdown. */
export interface MemoAnalysis {
  /** Without `#`, as written, each once, in order of appearance; `#a/b` gives `a` and `a/b`. */
  readonly tags: readonly string[]
  /**
   * Usernames without `@`, as first written, each once however its case differs, in order of
   * appearance.
   */
  readonly mentions: readonly string[]
  /** Links of every kind, bare URLs and e-mail addresses among them, images not. */
  readonly hasLink: boolean
  readonly hasCode: boolean
  readonly hasTaskList: boolean
  readonly hasIncompleteTasks: boolean
  /** Plain text of the first block if that is a heading of level 1, else empty. */
  readonly title: string
  /** The beginning of the plain text. */
  readonly snippet: string
}

/**
 * In UTF-16 code units; what follows is stored and shown, but not looked into. The worst contents
 * of this length keep the only thread busy for a third of a second, and some need more than twice
 * the time for twice the length.
 */
const MAX_ANALYZED_LENGTH = 65_536

/**
 * Each is a row to store and an entry in every answer that carries the memo; later ones do not
 * count.
 */
const MAX_TAGS = 500

/**
 * Each is a name to look up and maybe somebody to notify; a content that names more people is not
 * written to them.
 */
const MAX_MENTIONS = 100

/**
 * Reads all that is kept about a memo's content out of it. Never throws.
 *
 * The markdown is CommonMark 0.31 with tables, strikethrough, task list items and autolinks as in
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
