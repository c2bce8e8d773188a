/** A name that the user has begun to type. */
export interface BegunName {
  /** `@` for people, `#` for issues and pull requests. */
  readonly sign: '@' | '#'
  /** What stands behind the sign. */
  readonly part: string
  /** Position of the sign. */
  readonly start: number
}

/** A name is no longer than this. */
const MAX_CHARACTERS = 60

/** The sign begins a word, so that addresses and links of other kinds are no names. */
const BEGUN = /(?:^|[\s([{,;"'])([@#])([\p{L}\p{N}._-]*)$/u

/** Returns the name that ends at the caret; undefined for none. */
export function begunName(text: string, caret: number): BegunName | undefined {
  const before = text.slice(Math.max(0, caret - MAX_CHARACTERS), caret)
  const [, sign, part = ''] = BEGUN.exec(before) ?? []
  if (sign !== '@' && sign !== '#') return undefined
  return { sign, part, start: caret - part.length - 1 }
}

/** Returns a text with a whole name in place of the begun one, and where the user goes on. */
export function withName(
  text: string,
  { sign, part, start }: BegunName,
  name: string,
): { readonly text: string; readonly caret: number } {
  const after = text.slice(start + 1 + part.length)
  const space = /^\s/.test(after) ? '' : ' '
  const before = `${text.slice(0, start)}${sign}${name}${space}`
  return { text: before + after, caret: before.length }
}
