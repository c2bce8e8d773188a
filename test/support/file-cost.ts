import { appendFileSync, readFileSync } from 'node:fs'
import { afterAll, expect } from 'vitest'

/** Clock ticks of a second in proc(5), the same on every Linux of today. */
const TICKS_PER_SECOND = 100

// Vitest runs this file before each file of tests. Its hook is the first one, and so runs last.
const costsPath = process.env.TEST_COSTS
if (costsPath !== undefined) {
  const before = cpuSeconds()
  afterAll(() => {
    const { testPath } = expect.getState()
    const seconds = cpuSeconds() - before
    appendFileSync(costsPath, `${JSON.stringify({ file: testPath, seconds })}\n`)
  })
}

/** Returns the CPU time of this process and of all that it has started, in seconds. */
function cpuSeconds(): number {
  return sum(familyOf(process.pid).map(ticksOf)) / TICKS_PER_SECOND
}

function familyOf(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(familyOf)]
}

/** The time of a process and of its children that have ended: the fields 14 to 17 of proc(5). */
function ticksOf(pid: number): number {
  // The name of the program, which may contain spaces, is in parentheses.
  const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return sum(fields.slice(11, 15).map(Number))
}

/** Returns a file of a process; an empty text where the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
