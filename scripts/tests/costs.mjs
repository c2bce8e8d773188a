import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** The CPU time that one file of tests should need at most, with all processes that it starts. */
const BUDGET_CORE_SECONDS = 10

const SHOWN = 10

/**
 * Returns lines about the dearest files of a run of tests, which `test/support/file-cost.ts` has measured.
 * @param {string} path of the file with the costs
 * @param {string} folder names are relative to it
 */
export function costLines(path, folder) {
  if (!existsSync(path)) return []
  const costs = readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => /** @type {{ file: string, seconds: number }} */ (JSON.parse(line)))
    .sort((a, b) => b.seconds - a.seconds)
  const total = costs.reduce((sum, { seconds }) => sum + seconds, 0)
  const isOver = (/** @type {number} */ seconds) => seconds > BUDGET_CORE_SECONDS
  const over = costs.filter(({ seconds }) => isOver(seconds)).length
  return [
    `${total.toFixed(0)} core-seconds; ${over} of ${costs.length} files need more than ${BUDGET_CORE_SECONDS}. The dearest:`,
    ...costs
      .slice(0, SHOWN)
      .map(
        ({ file, seconds }) =>
          `${seconds.toFixed(1).padStart(6)} ${relative(folder, file)}${isOver(seconds) ? ' (over the budget)' : ''}`,
      ),
  ]
}
