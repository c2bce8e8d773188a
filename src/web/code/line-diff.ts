import type { DiffLine } from './diff-text.ts'

/** Lines around a change. */
const CONTEXT = 3

/** Texts with more differences show one large change, since the time grows with their square. */
const MAX_DIFFERENCES = 1500

/** Returns the changes that lead from a text to another one, as a diff with context. */
export function lineDiff(before: string, after: string): DiffLine[] {
  if (before === after) return []
  return withHunks(allLines(linesOf(before), linesOf(after)))
}

/** A line feed ends a line. The last line has none where the text does not end in one. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

/** Returns the lines of both texts, with what happened to each of them. */
function allLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  let end = 0
  const shorter = Math.min(before.length, after.length) - start
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++
  const steps = shortestSteps(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  )
  let [oldNumber, newNumber] = [1, 1]
  const kinds: Step[] = [
    ...Array.from({ length: start }, () => 'same' as const),
    ...steps,
    ...Array.from({ length: end }, () => 'same' as const),
  ]
  return kinds.flatMap((kind): DiffLine[] => {
    const written = (kind === 'added' ? after[newNumber - 1] : before[oldNumber - 1]) ?? ''
    const text = written.replace(/\n$/, '')
    const line: DiffLine = {
      kind,
      text,
      ...(kind !== 'added' && { oldNumber: oldNumber++ }),
      ...(kind !== 'removed' && { newNumber: newNumber++ }),
    }
    return written.endsWith('\n')
      ? [line]
      : [line, { kind: 'note', text: 'No newline at end of file' }]
  })
}

type Step = 'same' | 'added' | 'removed'

/**
 * Returns the steps of a shortest edit (Myers, "An O(ND) Difference Algorithm and Its Variations",
 * 1986). `furthest` has, for each diagonal, the line of `before` that so many differences reach.
 */
function shortestSteps(before: readonly string[], after: readonly string[]): Step[] {
  const [n, m] = [before.length, after.length]
  const most = Math.min(n + m, MAX_DIFFERENCES)
  const center = most + 1
  const furthest = new Int32Array(2 * most + 3)
  const trace: Int32Array[] = []
  for (let d = 0; d <= most; d++) {
    trace.push(furthest.slice(center - d - 1, center + d + 2))
    for (let k = -d; k <= d; k += 2) {
      const down = furthest[center + k + 1] ?? 0
      const right = (furthest[center + k - 1] ?? 0) + 1
      let x = k === -d || (k !== d && right <= down) ? down : right
      while (x < n && x - k < m && before[x] === after[x - k]) x++
      furthest[center + k] = x
      if (x >= n && x - k >= m) return stepsBack(trace, n, m)
    }
  }
  return [...before.map((): Step => 'removed'), ...after.map((): Step => 'added')]
}

/** Follows the trace from the end of both texts to their beginning. */
function stepsBack(trace: readonly Int32Array[], n: number, m: number): Step[] {
  const steps: Step[] = []
  let [x, y] = [n, m]
  for (let d = trace.length - 1; d > 0; d--) {
    const row = trace[d] ?? new Int32Array()
    // The row begins with the diagonal -d - 1.
    const at = (diagonal: number) => row[diagonal + d + 1] ?? 0
    const k = x - y
    const isDown = k === -d || (k !== d && at(k - 1) + 1 <= at(k + 1))
    const from = isDown ? at(k + 1) : at(k - 1)
    for (const begin = isDown ? from : from + 1; x > begin; x--) steps.push('same')
    steps.push(isDown ? 'added' : 'removed')
    x = from
    y = from - (isDown ? k + 1 : k - 1)
  }
  for (; x > 0; x--) steps.push('same')
  return steps.reverse()
}

/** Leaves out the lines that are far from each change, and puts a title before each hunk. */
function withHunks(lines: readonly DiffLine[]): DiffLine[] {
  const isChange = lines.map(({ kind }) => kind === 'added' || kind === 'removed')
  const near = new Uint8Array(lines.length)
  for (const [i, changed] of isChange.entries())
    if (changed) near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1)
  const shown: DiffLine[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]
    if (!line || near[i] === 0) continue
    if (i === 0 || near[i - 1] === 0) {
      const end = near.indexOf(0, i)
      shown.push({ kind: 'hunk', text: titleOf(lines.slice(i, end < 0 ? undefined : end)) })
    }
    shown.push(line)
  }
  return shown
}

function titleOf(hunk: readonly DiffLine[]): string {
  const side = (numbers: readonly (number | undefined)[]) => {
    const present = numbers.filter((number) => number !== undefined)
    return `${present[0] ?? 0},${present.length}`
  }
  const before = side(hunk.map(({ oldNumber }) => oldNumber))
  return `@@ -${before} +${side(hunk.map(({ newNumber }) => newNumber))} @@`
}
