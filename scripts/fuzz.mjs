// `npm run fuzz`: sends many mutated requests to the reader of each protocol. `--inputs N` (100,000
// for each protocol) and `--seed N` (from the clock) repeat a run.
import { parseArgs } from 'node:util'
import { run } from './setup/child-process.mjs'
import { explainFailure, printLine } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  const { values } = parseArgs({
    options: { inputs: { type: 'string' }, seed: { type: 'string' } },
  })
  const { inputs = '100000', seed = String(Math.floor(Date.now() / 1000) % 1_000_000) } = values
  await setUp('check')
  printLine('..', `fuzz: ${inputs} inputs for each protocol, seed ${seed}`)
  const args = ['run', '--config', 'test/vitest.config.ts', 'fuzz/']
  const env = { FUZZ_INPUTS: inputs, FUZZ_SEED: seed }
  const { code } = await run('vitest', args, { env, show: true })
  process.exitCode = code ?? 1
})
