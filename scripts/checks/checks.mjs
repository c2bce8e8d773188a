import { lastLines, run } from '../setup/child-process.mjs'
import { printLine, secondsSince } from '../setup/progress.mjs'
import { checkBreaking } from './breaking-changes.mjs'
import { checkGenerated } from './generated-drift.mjs'

/**
 * A check, which results in the exit code and the output of a command, or in the reason why it was
 * skipped.
 * @typedef {{ name: string, run: () => Promise<{ code: number | null, output: string } | { skipped:
 *   string }> }} Check
 */

/** @type {readonly Check[]} */
export const checks = [
  { name: 'buf format', run: () => run('buf', ['format', '--diff', '--exit-code', 'proto']) },
  { name: 'buf lint', run: () => run('buf', ['lint']) },
  { name: 'buf breaking', run: () => checkBreaking() },
  { name: 'generated code', run: checkGenerated },
  { name: 'list of methods', run: () => run('node', ['scripts/methods.mjs', '--check']) },
  { name: 'formatter and linter', run: () => run('biome', ['ci', '--colors=off']) },
  { name: 'types', run: () => run('tsc', []) },
  { name: 'types of the web pages', run: () => run('tsc', ['--project', 'src/web']) },
]

/** A separate check in `npm run check`. In `npm test` it is one of the tests. @type {Check} */
export const dependencyArrows = {
  name: 'dependency arrows',
  run: () => run('vitest', ['run', '--config', 'test/vitest.config.ts', 'architecture.test.ts']),
}

/**
 * Runs checks concurrently. Prints a line for each as it ends, with its output if it failed.
 * @param {readonly Check[]} list
 * @returns {Promise<import('../tests/tally.mjs').Tally>}
 */
export async function runChecks(list) {
  const results = await Promise.all(
    list.map(async (check) => {
      const startedAtMs = performance.now()
      const result = await check.run()
      if ('skipped' in result) {
        printLine('skip', `${check.name}: ${result.skipped}`, process.stdout)
        return { name: check.name, state: 'skipped' }
      }
      const hasPassed = result.code === 0
      if (!hasPassed && result.output) process.stdout.write(`${lastLines(result.output)}\n`)
      printLine(
        hasPassed ? 'ok' : 'FAIL',
        `${check.name} (${secondsSince(startedAtMs)})`,
        process.stdout,
      )
      return { name: check.name, state: hasPassed ? 'passed' : 'failed' }
    }),
  )
  return {
    passed: results.filter((r) => r.state === 'passed').length,
    failures: results.filter((r) => r.state === 'failed').map((r) => r.name),
    skipped: results.filter((r) => r.state === 'skipped').length,
    unstable: [],
  }
}
