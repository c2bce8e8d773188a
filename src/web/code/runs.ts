import type { DiffLine } from './diff-text.ts'

/** A part of a line, with the classes of the elements around it. The outermost is the first. */
export interface Run {
  readonly text: string
  readonly classes: readonly string[]
}

/** The parts of the lines of a text. */
export type ColouredLines = readonly (readonly Run[])[]

/** All that the output of highlight.js consists of. */
const TOKEN = /<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|\n|[^<&\n]+/g

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#x27': "'",
}

/** Reads the output of highlight.js, so that a page needs no HTML to show colours. */
export function colouredLinesOf(html: string): ColouredLines {
  const lines: Run[][] = [[]]
  const classes: string[] = []
  let text = ''
  const finish = () => {
    if (text !== '') lines.at(-1)?.push({ text, classes: [...classes] })
    text = ''
  }
  for (const [token, opened, entity] of html.matchAll(TOKEN)) {
    if (entity !== undefined) {
      text += ENTITIES[entity]
      continue
    }
    const isText = opened === undefined && token !== '</span>' && token !== '\n'
    if (isText) {
      text += token
      continue
    }
    finish()
    if (opened !== undefined) classes.push(opened)
    else if (token === '\n') lines.push([])
    else classes.pop()
  }
  finish()
  return lines
}

/** Returns the text of a line. */
export function textOfRuns(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('')
}

/** Divides a line where other parts of the same line end. */
export function divideRuns(runs: readonly Run[], lengths: readonly number[]): Run[][] {
  const rest = [...runs]
  return lengths.map((length) => {
    const part: Run[] = []
    for (let missing = length; missing > 0; ) {
      const run = rest.shift()
      if (!run) break
      const { text, classes } = run
      part.push({ text: text.slice(0, missing), classes })
      if (text.length > missing) rest.unshift({ text: text.slice(missing), classes })
      missing -= text.length
    }
    return part
  })
}

/** Lines of one side of a hunk, which follow each other in the file. */
type Passage = readonly DiffLine[]

/** Returns each hunk as it is in the new file, and as it was in the old one if it removes lines. */
export function passagesOf(lines: readonly DiffLine[]): Passage[] {
  const passages: Passage[] = []
  let [before, after]: [DiffLine[], DiffLine[]] = [[], []]
  const finish = () => {
    // Last, since a line of both sides has the colours of the new file.
    if (before.some(({ kind }) => kind === 'removed')) passages.push(before)
    if (after.length > 0) passages.push(after)
    ;[before, after] = [[], []]
  }
  for (const line of lines) {
    if (line.kind === 'hunk') finish()
    if (line.kind === 'removed' || line.kind === 'same') before.push(line)
    if (line.kind === 'added' || line.kind === 'same') after.push(line)
  }
  finish()
  return passages
}
