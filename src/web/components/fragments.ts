/** Lines of a file, as the fragment of an address names them. */
export interface LineRange {
  readonly first: number
  readonly last: number
}

/** `#L5`, `#L5-L9`, and `#L5-9`, as forges write them. */
const LINES = /^#L(\d{1,9})(?:-L?(\d{1,9}))?$/

/** Returns the lines that a fragment names; undefined for other fragments. */
export function namedLines(fragment: string): LineRange | undefined {
  const [, one, other = one] = LINES.exec(fragment) ?? []
  if (one === undefined) return undefined
  const [first = 0, last = 0] = [Number(one), Number(other)].sort((a, b) => a - b)
  return { first, last }
}

/** Returns the name that a fragment has. No name has an invalid encoding, so that it stays. */
export function fragmentName(fragment: string): string {
  const name = fragment.slice(1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Prefix of the names in a text, which must differ from those of the page. */
export const OF_TEXTS = 'user-content-'

/**
 * Returns the element of the page that a fragment leads to: a line, a part of the page, or else a part
 * of a text of the page.
 */
export function elementOf(fragment: string): HTMLElement | null {
  const lines = namedLines(fragment)
  const name = fragmentName(fragment)
  const names = [fragment.slice(1), name, OF_TEXTS + name]
  for (const id of lines ? [`L${lines.first}`, ...names] : names) {
    const element = document.getElementById(id)
    if (element) return element
  }
  // Old texts have named links instead of ids.
  const [named] = document.getElementsByName(OF_TEXTS + name)
  return named ?? null
}
