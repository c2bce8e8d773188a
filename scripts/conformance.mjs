// `npm run conformance`: runs Connect's conformance suite against the listener and all protocols.
// Needs Go. Arguments go to the suite, for example `--run 'Timeouts/**' --trace`.
import { join } from 'node:path'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, Failure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

const MODULE = 'connectrpc.com/conformance'
const VERSION = 'v1.0.7'

const outdir = join(root, 'dist', 'conformance')
const folder = join(root, 'test', 'conformance')

await explainFailure(async () => {
  await setUp('check')
  await generate()
  await need('tsc', ['--project', folder])
  await runSuite(process.argv.slice(2))
})

async function runSuite(/** @type {readonly string[]} */ options) {
  await need('go', ['install', `${MODULE}/cmd/connectconformance@${VERSION}`], { GOBIN: outdir })
  // Imported here, because the package exists only after the installation of the npm packages.
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: ['test/conformance/server.ts'],
    outdir,
    bundle: true,
    format: 'esm',
    logLevel: 'error',
    packages: 'external',
    platform: 'node',
    target: 'node20',
  })
  const { code } = await run(
    join(outdir, 'connectconformance'),
    [
      ...['--mode', 'server', '--conf', join(folder, 'features.yaml'), ...options],
      ...['--', process.execPath, join(outdir, 'server.js')],
    ],
    { show: true },
  )
  process.exitCode = code ?? 1
}

/** Writes test/conformance/gen from the proto files of the suite. */
async function generate() {
  const listed = await need('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`])
  const proto = join(JSON.parse(listed).Dir, 'proto')
  const files = ['config', 'server_compat', 'service'].map((name) =>
    join(proto, 'connectrpc', 'conformance', 'v1', `${name}.proto`),
  )
  const template = join(folder, 'buf.gen.yaml')
  const paths = files.flatMap((file) => ['--path', file])
  await need('buf', ['generate', proto, '--template', template, ...paths])
}

/**
 * Runs a command and returns its output.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 */
async function need(command, args, env = {}) {
  const { code, output } = await run(command, args, { env })
  if (code !== 0) throw new Failure(`\`${command} ${args[0]}\` failed. The suite needs Go.`, output)
  return output
}
