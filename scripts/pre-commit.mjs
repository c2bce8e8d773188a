// The check before a commit: format and lint of the files that the commit contains, within 3
// seconds. Types and tests take longer: `npm run check`, `npm test`.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runChecks } from './checks/checks.mjs'
import { quickChecks } from './checks/quick-checks.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, Failure } from './setup/progress.mjs'

await explainFailure(async () => {
  if (!existsSync(join(root, 'node_modules', '.bin', 'biome')))
    throw new Failure('The check before a commit needs the packages: run `npm run check` once.')
  const diff = ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z']
  const { code, output } = await run('git', diff)
  if (code !== 0) throw new Failure('git diff failed.', output)
  const tally = await runChecks(quickChecks(output.split('\0').filter((name) => name !== '')))
  process.exitCode = tally.failures.length > 0 ? 1 : 0
})
