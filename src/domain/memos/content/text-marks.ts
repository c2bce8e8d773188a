/**
 * Stands in running text for what must not be read as the character that it looks like or comes
 * from: an escaped character, a character reference, a marker of emphasis. The object replacement
 * character, because it ends tags and usernames, but like all but blanks and `<` goes on with a
 * URL.
 */
export const OPAQUE = '\uFFFC'

/** What running text says besides words. */
export interface TextMarks {
  readonly tags: readonly string[]
  readonly mentions: readonly string[]
  readonly hasLink: boolean
}

/**
 * In code points, with all levels. Without it one tag of many levels would, each level being a tag
 * of its own, take storage with the square of the memo's length.
 */
const MAX_TAG_LENGTH = 100

/**
 * `www.`, `http://`, `https://` and `ftp://` with what follows, after
 * https://github.github.com/gfm/#autolinks-extension-; but the shape of domains is left to those
 * who follow the link, and punctuation at the end makes no difference here.
 */
const URL_START = String.raw`(?:(?<![A-Za-z])(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]):\/\/|(?<![^\s*_~\(\[\]${OPAQUE}])[Ww]{3}\.)`
const URL = String.raw`${URL_START}[\p{L}\p{N}][^\s<]*`

/**
 * https://github.github.com/gfm/#extended-email-autolink, where the domain ends in a letter as
 * cmark-gfm has it.
 */
const EMAIL = String.raw`(?<![\w.+\-])[\w.+\-]+@(?:[\w\-]+\.)+[\w\-]*[A-Za-z](?![\w\-])`

const LINK = `(?:${URL}|${EMAIL})`

const EMOJI = String.raw`\p{RGI_Emoji}`
const INVISIBLE = String.raw`\p{Default_Ignorable_Code_Point}`
const TAG_CHARACTER = String.raw`[\p{XID_Continue}\-+&]`
const APOSTROPHE = String.raw`(?<=\p{XID_Continue})['’](?=\p{XID_Continue})`
const TAG_LEVEL = `${INVISIBLE}*(?:${EMOJI}|(?!\\p{M})${TAG_CHARACTER})(?:${EMOJI}|${TAG_CHARACTER}|${INVISIBLE}|${APOSTROPHE})*`

/**
 * Levels between single slashes, each of what Unicode has in identifiers (UAX #31), `-`, `+`, `&`,
 * emoji (UTS #51) and, within a word, apostrophes. Characters that nobody sees may be anywhere,
 * since nobody could tell the tags apart. A combining mark does not begin a level: it would belong
 * to the `#`, as in a keycap.
 */
const TAG = String.raw`(?<!#)#(?!\uFE0F?\u20E3)(?<tag>${TAG_LEVEL}(?:\/${TAG_LEVEL})*)`

/** A whole run of the characters of usernames that is a username. */
const MENTION = String.raw`(?<![A-Za-z0-9\-])@(?<mention>[A-Za-z0-9](?:[A-Za-z0-9\-]{0,34}[A-Za-z0-9])?)(?![A-Za-z0-9\-])`

/**
 * Of two marks that overlap, a link wins and then the first. No part can be entered from the middle
 * of what it would match, which keeps the time linear.
 */
const MARK = new RegExp(`(?<link>${LINK})|(?=[#@])(?!.${LINK})(?:${TAG}|${MENTION})`, 'gv')

const INVISIBLE_OUTSIDE_EMOJI = new RegExp(`(${EMOJI})|${INVISIBLE}`, 'gv')

/**
 * Finds tags, mentions and bare addresses.
 *
 * @param running text of one block, without what is not ordinary text; see OPAQUE.
 */
export function scanText(running: string): TextMarks {
  const tags: string[] = []
  const mentions: string[] = []
  let hasLink = false
  for (const { groups } of running.matchAll(MARK)) {
    if (groups?.link !== undefined) hasLink = true
    if (groups?.mention !== undefined) mentions.push(groups.mention)
    if (groups?.tag !== undefined)
      tags.push(...levelsOf(groups.tag.replace(INVISIBLE_OUTSIDE_EMOJI, '$1')))
  }
  return { tags, mentions, hasLink }
}

/** `a/b/c` gives `a`, `a/b` and `a/b/c`, as far as they are not too long. */
function levelsOf(tag: string): string[] {
  const tags: string[] = []
  let path = ''
  for (const level of tag.split('/')) {
    path = path === '' ? level : `${path}/${level}`
    if ([...path].length > MAX_TAG_LENGTH) break
    tags.push(path)
  }
  return tags
}
