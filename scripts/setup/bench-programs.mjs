import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundlePath } from './bundle.mjs'
import { root, run } from './child-process.mjs'

const PROGRAMS = ['main', 'baseline', 'peer-server', 'git-baseline', 'light-calls-worker']

/**
 * Builds the programs of the bench, and the peer of Go where Go is installed.
 * @param {string} outdir
 * @returns {Promise<readonly string[]>} the first arguments of Node, for the bench
 */
export async function buildBench(outdir) {
  // Imported here, because it exists only after the installation of the npm packages.
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS.map((name) => `bench/${name}.ts`),
    outdir,
    bundle: true,
    format: 'esm',
    logLevel: 'error',
    packages: 'external',
    platform: 'node',
    target: 'node20',
  })
  // The helpers of tests, which the bench uses, start Git by the program beside them.
  const starter = 'program-starter.mjs'
  await copyFile(join(root, 'test', 'support', starter), join(outdir, starter))
  await run('go', ['build', '-o', join(outdir, 'connect-go'), '.'], {
    cwd: join(root, 'bench', 'connect-go'),
  })
  return [
    join(outdir, 'main.js'),
    bundlePath,
    join(outdir, 'baseline.js'),
    join(outdir, 'git-baseline.js'),
    join(root, 'docs', 'performance.md'),
  ]
}
