// `npm run bench`: sets the clone up, then measures the server. `npm run bench -- protocols`
// measures the groups that the arguments name. `--write` writes the figures to docs/performance.md.
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
  entryPoints: ['main', 'baseline', 'peer-server', 'git-baseline', 'light-calls-worker'].map(
    (name) => `bench/${name}.ts`,
  ),
  outdir,
  bundle: true,
  format: 'esm',
  logLevel: 'error',
  packages: 'external',
  platform: 'node',
  target: 'node20',
})
// Without Go, the peer of Go is left out.
await run('go', ['build', '-o', join(outdir, 'connect-go'), '.'], {
  cwd: join(root, 'bench', 'connect-go'),
})
const { code } = await run(
  process.execPath,
  [
    join(outdir, 'main.js'),
    bundlePath,
    join(outdir, 'baseline.js'),
    join(outdir, 'git-baseline.js'),
    join(root, 'docs', 'performance.md'),
    ...process.argv.slice(2),
  ],
  { show: true },
)
process.exitCode = code ?? 1
