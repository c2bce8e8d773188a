// `npm run chaos`: kills and stops servers under load, many times, and checks that nothing is lost and
// nothing happens twice. `--kills N` (200) and `--seed N` (from the clock) repeat a run.
import { parseArgs } from 'node:util'
import { run } from './setup/child-process.mjs'
import { explainFailure, printLine } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  const { values } = parseArgs({
    options: { kills: { type: 'string' }, seed: { type: 'string' } },
  })
  const { kills = '200', seed = String(Math.floor(Date.now() / 1000) % 1_000_000) } = values
  await setUp('test')
  printLine('..', `chaos: ${kills} failures of servers, seed ${seed}`)
  const args = ['run', '--config', 'test/vitest.config.ts', 'server/chaos']
  const env = { CHAOS_KILLS: kills, CHAOS_SEED: seed }
  const { code } = await run('vitest', args, { env, show: true })
  process.exitCode = code ?? 1
})
