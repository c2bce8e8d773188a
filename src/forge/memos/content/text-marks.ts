/**
 * Replaces what must not be read as ordinary characters: escaped characters, character references
 * and emphasis markers. The object replacement character ends tags and usernames, but continues a
 * URL, like all characters other than spaces and `<`.
 */
export const OPAQUE = '\uFFFC'

/** Tags, mentions and links of a running text. */
interface TextMarks {
  readonly tags: readonly string[]
  readonly mentions: readonly string[]
  readonly hasLink: boolean
}

/**
 * The maximum length of a tag in code points, with all its levels. Each level is stored as a tag,
 * so without a limit the storage of one long tag would grow with the square of its length.
 */
const MAX_TAG_LENGTH = 100

/**
 * `www.`, `http://`, `https://` or `ftp://` and the following text, after
 * https://github.github.com/gfm/#autolinks-extension-. The shape of the domain is not checked, and
 * punctuation at the end makes no difference here.
 */
const URL_START = String.raw`(?:(?<![A-Za-z])(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]):\/\/|(?<![^\s*_~\(\[\]${OPAQUE}])[Ww]{3}\.)`
const URL = String.raw`${URL_START}[\p{L}\p{N}][^\s<]*`

/**
 * https://github.github.com/gfm/#extended-email-autolink, with a domain that ends in a letter, as
 * in cmark-gfm.
 */
const EMAIL = String.raw`(?<![\w.+\-])[\w.+\-]+@(?:[\w\-]+\.)+[\w\-]*[A-Za-z](?![\w\-])`

const LINK = `(?:${URL}|${EMAIL})`

/**
 * Stands for an emoji while marks are found. A text cannot have the character, which Unicode keeps for
 * such purposes.
 */
const EMOJI = '\uFDD0'

const INVISIBLE = String.raw`\p{Default_Ignorable_Code_Point}`
const TAG_CHARACTER = String.raw`[\p{XID_Continue}\-+&${EMOJI}]`
const APOSTROPHE = String.raw`(?<=\p{XID_Continue})['\u2019](?=\p{XID_Continue})`
const TAG_LEVEL = `${INVISIBLE}*(?!\\p{M})${TAG_CHARACTER}(?:${TAG_CHARACTER}|${INVISIBLE}|${APOSTROPHE})*`

/**
 * Levels separated by single slashes. A level consists of identifier characters of Unicode (UAX
 * #31), `-`, `+`, `&`, emoji (UTS #51) and, within a word, apostrophes. Invisible characters may
 * appear anywhere, because users cannot see a difference. A combining mark does not begin a level:
 * it belongs to the `#`, as in a keycap.
 */
const TAG = String.raw`(?<!#)#(?!\uFE0F?\u20E3)(?<tag>${TAG_LEVEL}(?:\/${TAG_LEVEL})*)`

/** Characters that a username may have between letters and digits. */
const BETWEEN = String.raw`(?:[_\-]|\.(?!\.))`

/**
 * A whole run of username characters that is a username. The full stop of a sentence does not
 * belong to the run; a hyphen at the end does, so that the run is no username.
 */
const MENTION = String.raw`(?<![A-Za-z0-9._\-])@(?<mention>[A-Za-z0-9](?:(?:[A-Za-z0-9]|${BETWEEN}){0,38}[A-Za-z0-9])?)(?!${BETWEEN}*[A-Za-z0-9]|-)`

/**
 * Of two overlapping marks, a link wins over others, and otherwise the first one. No alternative
 * can match from the middle of its own match, so the time is linear.
 */
const MARK = new RegExp(`(?<link>${LINK})|(?=[#@])(?!.${LINK})(?:${TAG}|${MENTION})`, 'gv')

const INVISIBLES = new RegExp(INVISIBLE, 'gv')

/**
 * An emoji of UTS #51. V8 makes thousands of alternatives of `RGI_Emoji`, and tries them one by one once the
 * process has compiled much (`TooMuchRegExpCode` in its source). Therefore the expression is apart from
 * the others, and is asked only for characters that can begin an emoji of several characters.
 */
const FOUND_EMOJI = new RegExp(
  String.raw`(?=[\p{Emoji}--\p{ASCII}]|[0-9#*]\uFE0F)` +
    String.raw`(?:(?=.[\p{M}\p{Cf}\p{Emoji_Modifier}\p{RI}])\p{RGI_Emoji}|(?!\p{RI})\p{Emoji_Presentation})`,
  'gv',
)

/**
 * Finds tags, mentions and bare links.
 *
 * @param running the ordinary text of one block; see `BlockText`.
 */
export function scanText(running: string): TextMarks {
  const emoji: string[] = []
  const text = running.replaceAll(EMOJI, OPAQUE).replace(FOUND_EMOJI, (found) => {
    emoji.push(found)
    return EMOJI
  })
  const tags: string[] = []
  const mentions: string[] = []
  let hasLink = false
  let before = 0
  let end = 0
  for (const { index, 0: mark, groups } of text.matchAll(MARK)) {
    before += placesOf(text.slice(end, index))
    end = index + mark.length
    const own = emoji.slice(before, before + placesOf(mark))
    before += own.length
    if (groups?.link !== undefined) hasLink = true
    if (groups?.mention !== undefined) mentions.push(groups.mention)
    if (groups?.tag !== undefined)
      tags.push(
        ...levelsOf(groups.tag.replace(INVISIBLES, '').replaceAll(EMOJI, () => own.shift() ?? '')),
      )
  }
  return { tags, mentions, hasLink }
}

/** Returns how many emoji a text had. */
function placesOf(text: string): number {
  return text.split(EMOJI).length - 1
}

/** Splits `a/b/c` into `a`, `a/b` and `a/b/c`. Tags that are too long are left out. */
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
