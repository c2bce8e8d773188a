import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url))

/** A page, by its path below the root. */
export function readPage(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

/** A fenced code block. */
export interface Block {
  readonly language: string
  readonly text: string
  /** Whether nothing but blank lines is between it and the block before. */
  readonly follows: boolean
}

const FENCED_BLOCK = /^```(\w*)\n(.*?)^```$/gms

/** The fenced code blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  let end = -1
  return [...page.matchAll(FENCED_BLOCK)].map((match) => {
    const [whole, language = '', text = ''] = match
    const follows = end >= 0 && page.slice(end, match.index).trim() === ''
    end = match.index + whole.length
    return { language, text, follows }
  })
}

function withoutBlocks(page: string): string {
  return page.replace(FENCED_BLOCK, '')
}

/** The targets of all links of a page, code left out. */
export function linksOf(page: string): string[] {
  const prose = withoutBlocks(page).replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
}

/** The texts in backticks, fenced blocks left out. */
export function codeOf(page: string): string[] {
  return [...withoutBlocks(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
}

/**
 * The anchors of the headings of a page, as GitHub makes them: lower case, without punctuation,
 * blanks as hyphens.
 */
export function anchorsOf(page: string): Set<string> {
  const headings = [...withoutBlocks(page).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => text)
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/**
 * The first table below a heading: its rows, without the header, as the texts of their cells.
 *
 * @throws Error when there is none.
 */
export function tableBelow(page: string, heading: string): string[][] {
  const section = page.split(`\n${heading}\n`)[1] ?? ''
  const [table] = /(?:^\|.*\n)+/m.exec(section.split(/^#+ /m)[0] ?? '') ?? []
  if (table === undefined) throw new Error(`no table below "${heading}"`)
  const [, , ...rows] = table.trimEnd().split('\n')
  // A cell may hold an escaped bar, as in `<on\|off>`.
  return rows.map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
}
