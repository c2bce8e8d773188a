import type { StateBlock, StateInline } from 'markdown-it'

/**
 * Lengths of runs of dollar signs that no run closes in the rest of a text. They avoid a second
 * search, which would take quadratic time.
 */
interface MathEnv {
  unclosed?: Map<StateInline, Set<number>>
}

/**
 * Inline rule for mathematics, as in https://github.com/micromark/micromark-extension-math: text
 * between two runs of equally many dollar signs, like code between backticks. To exclude sums of
 * money, single dollar signs also follow https://pandoc.org/MANUAL.html#extension-tex_math_dollars:
 * no space on the inner side of either, and no digit after the second.
 */
export function readMathSpan(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state
  if (src[pos] !== '$') return false
  const start = endOfRun(src, pos)
  const length = start - pos
  const end = length === 1 && isBlank(src[start]) ? -1 : findClosing(state, start, length)
  if (end < 0) {
    if (!silent) state.pending += src.slice(pos, start)
    state.pos = start
    return true
  }
  if (!silent) state.push('math_inline', 'math', 0).content = src.slice(start, end)
  state.pos = end + length
  return true
}

/** Returns the start of the run that closes the run which ends at `start`; -1 if there is none. */
function findClosing(state: StateInline, start: number, length: number): number {
  const { src } = state
  const env: MathEnv = state.env
  env.unclosed ??= new Map()
  const missing = env.unclosed.get(state) ?? new Set()
  if (missing.has(length)) return -1
  for (let at = src.indexOf('$', start); at >= 0; at = src.indexOf('$', at)) {
    const end = endOfRun(src, at)
    if (
      end - at === length &&
      (length > 1 || (!isBlank(src[at - 1]) && !/[0-9]/.test(src[end] ?? '')))
    )
      return at
    at = end
  }
  env.unclosed.set(state, missing.add(length))
  return -1
}

function isBlank(character: string | undefined): boolean {
  return character === undefined || /\s/.test(character)
}

function endOfRun(src: string, start: number): number {
  let end = start
  while (src[end] === '$') end++
  return end
}

/**
 * An opening fence has two or more dollar signs, and no more of them in its line. A closing fence
 * has at least as many, alone in its line.
 */
const FENCE = /^(\${2,})[^$]*$/
const CLOSING_FENCE = /^(\${2,})[ \t]*$/

/**
 * A line with more indentation is code, https://spec.commonmark.org/0.31.2/#indented-code-blocks.
 */
const MAX_INDENTATION = 3

/**
 * Block rule for mathematics between lines of dollar signs, like fenced code. A block without a
 * closing fence ends with its container.
 */
export function readMathBlock(
  state: StateBlock,
  startLine: number,
  endLine: number,
  silent: boolean,
): boolean {
  const fence = matchLine(state, startLine, FENCE)
  if (fence === 0) return false
  if (silent) return true
  let line = startLine + 1
  while (
    line < endLine &&
    isInContainer(state, line) &&
    matchLine(state, line, CLOSING_FENCE) < fence
  )
    line++
  const closed = line < endLine && isInContainer(state, line)
  state.push('math_block', 'math', 0).content = state.getLines(startLine + 1, line, 0, false)
  state.line = closed ? line + 1 : line
  return true
}

/** Returns the number of dollar signs of a fence; 0 if the line does not match the pattern. */
function matchLine(state: StateBlock, line: number, pattern: RegExp): number {
  if (indentation(state, line) > MAX_INDENTATION) return 0
  const start = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
  return pattern.exec(state.src.slice(start, state.eMarks[line]))?.[1]?.length ?? 0
}

/** List items continue while lines are blank or indented. Other containers end at `endLine`. */
function isInContainer(state: StateBlock, line: number): boolean {
  return indentation(state, line) >= 0 || state.isEmpty(line)
}

/** Returns the indentation in columns, relative to the content of the container. */
function indentation(state: StateBlock, line: number): number {
  return (state.sCount[line] ?? 0) - state.blkIndent
}
