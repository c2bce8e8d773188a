// `npm run bench`: sets the clone up, then measures the server. `npm run bench -- protocols`
// measures the groups that the arguments name, `--except web` all others. `--write` writes the
// figures to docs/performance.md, `--check` only compares responses.
import { join } from 'node:path'
import { buildBench } from './setup/bench-programs.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('measure'))
const programs = await buildBench(join(root, 'dist', 'bench'))
const args = [...programs, ...process.argv.slice(2)]
const { code } = await run(process.execPath, args, { show: true })
process.exitCode = code ?? 1
