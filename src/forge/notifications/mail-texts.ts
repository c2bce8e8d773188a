import type { NotificationThread } from './schema.ts'

/** The maximum number of characters of a comment that a mail repeats. */
const MAX_QUOTED_CHARACTERS = 2_000

/**
 * The maximum number of characters of a line. With four bytes each and the mark of a quotation, they
 * stay below the 998 octets of RFC 5322 section 2.1.1.
 */
const MAX_LINE_CHARACTERS = 240

/** Control characters other than line feeds and tabs. */
const CONTROLS = /[^\P{Cc}\n\t]/gu

/** Why a user gets a mail. */
export const REASON_TEXTS: Readonly<Record<NotificationThread['reason'], string>> = {
  MENTION: 'you were mentioned',
  REVIEW_REQUESTED: 'your review was requested',
  ASSIGN: 'you were assigned',
  PARTICIPATING: 'you take part in the pull request',
  SUBSCRIBED: 'you watch the repository',
}

/**
 * Returns a text as a quotation, whose lines cannot be taken for those of the server. A long text is
 * cut.
 */
export function quote(text: string): string {
  const characters = [...text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, '').trim()]
  const isCut = characters.length > MAX_QUOTED_CHARACTERS
  const shown = characters.slice(0, MAX_QUOTED_CHARACTERS).join('') + (isCut ? ' […]' : '')
  return shown
    .split('\n')
    .flatMap(inShortLines)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}

function inShortLines(line: string): string[] {
  const characters = [...line]
  if (characters.length <= MAX_LINE_CHARACTERS) return [line]
  const parts: string[] = []
  for (let start = 0; start < characters.length; start += MAX_LINE_CHARACTERS)
    parts.push(characters.slice(start, start + MAX_LINE_CHARACTERS).join(''))
  return parts
}
