// `npm run schemathesis`: lets Schemathesis call every method of the OpenAPI document with many
// valid and invalid requests. Needs Python 3.10. `--examples N` (50 for each method), `--phases`
// (`coverage,fuzzing`) and `--seed N` (from the clock) repeat a run.
import { parseArgs } from 'node:util'
import { run } from './setup/child-process.mjs'
import { explainFailure, printLine } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  const { values } = parseArgs({
    options: {
      examples: { type: 'string' },
      phases: { type: 'string' },
      seed: { type: 'string' },
    },
  })
  const { examples = '50', phases = 'coverage,fuzzing' } = values
  const { seed = String(Math.floor(Date.now() / 1000) % 1_000_000) } = values
  await setUp('check')
  printLine('..', `schemathesis: ${examples} examples for each method, ${phases}, seed ${seed}`)
  const args = ['run', '--config', 'test/vitest.config.ts', 'clients/schemathesis.test.ts']
  const env = {
    SCHEMATHESIS_EXAMPLES: examples,
    SCHEMATHESIS_PHASES: phases,
    SCHEMATHESIS_SEED: seed,
  }
  const { code } = await run('vitest', args, { env, show: true })
  process.exitCode = code ?? 1
})
