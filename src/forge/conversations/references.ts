import type { Token } from 'markdown-it'
import { nameKey, type RepositoryName } from '../core/names.ts'
import { parseMarkdown } from '../memos/content/markdown.ts'
import { OPAQUE } from '../memos/content/text-marks.ts'
import type { ReferenceAction } from './schema.ts'

/** A conversation that a text names. */
export interface Reference {
  /** The repository that the text names; undefined for the repository of the text. */
  readonly repository: RepositoryName | undefined
  readonly number: number
  /** The last one that the text says about the conversation. */
  readonly action: ReferenceAction
}

/** The conversations that one text names. Each one is a lookup, and an entry in a timeline. */
export const MAX_REFERENCES = 50

/** The length of a text that is searched, in UTF-16 code units. No description is longer. */
const MAX_SEARCHED_LENGTH = 65_536

/** The characters before and after a reference, and before a word, are those of Gitea. */
const BEFORE = String.raw`(?<![^\s\(\['"])`
const AFTER = String.raw`(?![^\s\)\]'":;,.?!])(?![:;,.?!][^\s])`

const NAME = String.raw`[A-Za-z0-9._\-]{1,100}`
const NUMBER = '[1-9][0-9]{0,8}'
const CLOSING = 'close[sd]?|fix|fixe[sd]|resolve[sd]?'
const REOPENING = 'reopen|reopens|reopened'
const WORD = `(?:(?:(?<closing>${CLOSING})|(?<reopening>${REOPENING})):? )?`
const SHORT = `(?:(?<owner>${NAME})/(?<repo>${NAME}))?[#!](?<number>${NUMBER})`

/** Returns the pattern of the address of a conversation, with or without one of its comments. */
const addressOf = (root: string) =>
  `${literally(root)}/(?<urlOwner>${NAME})/(?<urlRepo>${NAME})/(?:issues|pulls)/(?<urlNumber>${NUMBER})(?:#issuecomment-[0-9]{1,18})?`

/**
 * Returns the pattern of references.
 *
 * A match begins only after a character of BEFORE, which no part of a match but a word contains,
 * and every repetition is bounded and ends at a character that it cannot contain. So the time is
 * linear.
 *
 * @param root the address of this server, without `/` at the end.
 */
function patternOf(root: string): RegExp {
  return new RegExp(`${BEFORE}${WORD}(?:${SHORT}|${addressOf(root)})${AFTER}`, 'giv')
}

/** Returns a pattern that matches a text and nothing else. */
function literally(text: string): string {
  return text.replaceAll(
    /[^A-Za-z0-9]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
}

/** Finds the references of a title or a message of a commit. @param root as above. */
export function referencesInPlain(text: string, root: string): Reference[] {
  return mayRefer(text, root) ? referencesOf([text.slice(0, MAX_SEARCHED_LENGTH)], root) : []
}

/**
 * Finds the references of a conversation with a title and a description, or of a comment. Code and
 * HTML of a Markdown text have none, and neither have the texts of links.
 *
 * @param root as above.
 */
export function referencesInText({ title = '', body }: ReferringText, root: string): Reference[] {
  // Parsing takes time, and most texts contain no reference.
  const blocks = mayRefer(body, root) ? blocksOf(body, root) : []
  const texts = [title, ...blocks].filter((text) => mayRefer(text, root))
  return texts.length > 0 ? referencesOf(texts, root) : []
}

function mayRefer(text: string, root: string): boolean {
  return /[#!][1-9]/.test(text) || text.includes(`${root}/`)
}

/** A text that can name conversations. */
export interface ReferringText {
  /** Plain text. Comments have none. */
  readonly title?: string
  /** Markdown. */
  readonly body: string
}

function referencesOf(texts: readonly string[], root: string): Reference[] {
  const found = new Map<string, Reference>()
  const pattern = patternOf(root)
  for (const text of texts)
    for (const { groups = {} } of text.matchAll(pattern)) {
      const reference = referenceOf(groups)
      const { repository, number, action } = reference
      const key = `${repository ? repositoryKey(repository) : ''}#${number}`
      const known = found.get(key)
      if (!known && found.size === MAX_REFERENCES) continue
      found.set(key, action === 'none' && known ? known : reference)
    }
  return [...found.values()]
}

/** Returns a text by which names of the same repository are equal. */
export function repositoryKey({ owner, repo }: RepositoryName): string {
  return `${nameKey(owner)}/${nameKey(repo)}`
}

function referenceOf(groups: Record<string, string | undefined>): Reference {
  const owner = groups.owner ?? groups.urlOwner
  const repo = groups.repo ?? groups.urlRepo
  return {
    repository: owner === undefined || repo === undefined ? undefined : { owner, repo },
    number: Number(groups.number ?? groups.urlNumber),
    action: groups.closing ? 'closes' : groups.reopening ? 'reopens' : 'none',
  }
}

/** Returns the blocks of a Markdown text that can have references. */
function blocksOf(body: string, root: string): string[] {
  const blocks: string[] = []
  for (const { type, children } of parseMarkdown(body.slice(0, MAX_SEARCHED_LENGTH)))
    if (type === 'inline') blocks.push(runningText(children ?? [], root))
  return blocks
}

/** Returns the ordinary text of a block. A link to this server is its target. */
function runningText(spans: readonly Token[], root: string): string {
  let running = ''
  // Links cannot be nested.
  let inLink = false
  for (const span of spans) {
    if (span.type === 'link_open') {
      inLink = true
      const target = String(span.attrGet('href') ?? '')
      const isHere = target.startsWith(`${root}/`)
      running += `${/(^|\s)$/.test(running) ? '' : ' '}${isHere ? target : ''} `
    } else if (span.type === 'link_close') {
      inLink = false
    } else if (!inLink) {
      running += textOf(span)
    }
  }
  return running
}

function textOf({ type, content, markup }: Token): string {
  switch (type) {
    case 'text':
      return content
    case 'text_special':
      // A backslash before a character that needs no escape is a backslash.
      return content === markup ? content : OPAQUE
    case 'softbreak':
    case 'hardbreak':
      return '\n'
    case 'code_inline':
    case 'math_inline':
    case 'html_inline':
    case 'image':
      return OPAQUE
    default:
      // Markers of emphasis are no part of the text.
      return ''
  }
}
