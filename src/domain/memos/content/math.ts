import type { StateBlock, StateInline } from 'markdown-it'

/**
 * Lengths of runs of dollar signs that no run closes in the rest of a text. They avoid a second
 * search, which would take quadratic time.
 */
interface MathEnv {
  unclosed?: Map<StateInline, Set<number>>
}

/**
 * Inline rule for mathematics, as https://github.com/micromark/micromark-extension-math: between
 * runs of equally many dollar signs, like code between backticks. So that sums of money are none,
 * single ones also follow https://pandoc.org/MANUAL.html#extension-tex_math_dollars: no blank
 * inside of either, no digit after the second.
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

/** Where the run begins that closes one which ends at `start`; -1 if there is none. */
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
 * Two dollar signs or more, with none after them in their line; they may be closed by as many or
 * more, alone.
 */
const FENCE = /^(\${2,})[^$]*$/
const CLOSING_FENCE = /^(\${2,})[ \t]*$/

/** With more a line is code, https://spec.commonmark.org/0.31.2/#indented-code-blocks. */
const MAX_INDENTATION = 3

/**
 * Block rule for mathematics between lines of dollar signs, like fenced code; unclosed, it ends
 * with its container.
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

/** How many dollar signs begin a line that a pattern of fences fits; 0 if it does not. */
function matchLine(state: StateBlock, line: number, pattern: RegExp): number {
  if (indentation(state, line) > MAX_INDENTATION) return 0
  const start = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
  return pattern.exec(state.src.slice(start, state.eMarks[line]))?.[1]?.length ?? 0
}

/**
 * List items go on as long as lines have their indentation or are blank; of other containers
 * `endLine` is the end.
 */
function isInContainer(state: StateBlock, line: number): boolean {
  return indentation(state, line) >= 0 || state.isEmpty(line)
}

/** In columns, from where the content of the container begins. */
function indentation(state: StateBlock, line: number): number {
  return (state.sCount[line] ?? 0) - state.blkIndent
}
