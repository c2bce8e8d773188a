/** Feeds in the form of Atom (RFC 4287). */

/** A feed, whose entries are latest first. */
export interface Feed {
  /** Address of the feed itself, which names the feed forever. */
  readonly address: string
  readonly title: string
  /** The page with the same content. */
  readonly page: string
  readonly entries: readonly FeedEntry[]
  /** Unix seconds of the feed without entries. */
  readonly emptySince: number
}

export interface FeedEntry {
  /** Names the entry forever. An address. */
  readonly id: string
  readonly title: string
  readonly page: string
  /** Unix seconds. */
  readonly time: number
  readonly author: string
  /** Plain text; empty for none. */
  readonly text: string
}

/** The part of a text that a feed has. Readers follow the link for the rest. */
const MAX_TEXT_CHARACTERS = 10_000

/** Characters that XML 1.0 cannot have, with escapes either. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot have
const UNFIT = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // Readers would turn a plain one into a line feed.
  '\r': '&#13;',
}

/** The years that RFC 3339 can write. */
const LAST_SECOND = 253_402_300_799

/** Writes a feed. */
export function writeFeed({ address, title, page, entries, emptySince }: Feed): string {
  const updated = entries.reduce((latest, { time }) => Math.max(latest, time), 0)
  return `${[
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `  <id>${escaped(address)}</id>`,
    `  <title>${escaped(title)}</title>`,
    `  <updated>${timeText(updated || emptySince)}</updated>`,
    `  <link rel="self" type="application/atom+xml" href="${escaped(address)}"/>`,
    `  <link rel="alternate" type="text/html" href="${escaped(page)}"/>`,
    ...entries.flatMap(entryLines),
    '</feed>',
  ].join('\n')}\n`
}

function entryLines({ id, title, page, time, author, text }: FeedEntry): string[] {
  return [
    '  <entry>',
    `    <id>${escaped(id)}</id>`,
    `    <title>${escaped(title)}</title>`,
    `    <updated>${timeText(time)}</updated>`,
    `    <link rel="alternate" type="text/html" href="${escaped(page)}"/>`,
    `    <author><name>${escaped(author)}</name></author>`,
    ...(text === ''
      ? []
      : [`    <content type="text">${escaped(text.slice(0, MAX_TEXT_CHARACTERS))}</content>`]),
    '  </entry>',
  ]
}

function escaped(text: string): string {
  return text
    .replace(UNFIT, '\ufffd')
    .replace(/[&<>"\r]/g, (character) => ESCAPES[character] ?? character)
}

function timeText(seconds: number): string {
  const time = new Date(Math.min(Math.max(seconds, 0), LAST_SECOND) * 1000)
  return time.toISOString().replace('.000Z', 'Z')
}
