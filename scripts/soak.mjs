// `npm run soak`: a million calls, over which the memory of the server has to stay flat. `--calls N`
// sends another number of calls.
import { join } from 'node:path'
import { bundlePath } from './setup/bundle.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('measure'))
// Imported here, because it exists only after the installation of the npm packages.
const { build } = await import('esbuild')
const outdir = join(root, 'dist', 'bench')
await build({
  absWorkingDir: root,
  entryPoints: ['bench/soak.ts'],
  outdir,
  bundle: true,
  format: 'esm',
  logLevel: 'error',
  packages: 'external',
  platform: 'node',
  target: 'node20',
})
const args = [join(outdir, 'soak.js'), bundlePath, ...process.argv.slice(2)]
const { code } = await run(process.execPath, args, { show: true })
process.exitCode = code ?? 1
