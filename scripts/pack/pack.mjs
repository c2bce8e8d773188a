import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentLibc } from '../setup/addon-cache.mjs'
import { webFolder } from '../setup/bundle-web.mjs'
import { root } from '../setup/child-process.mjs'
import { addonFiles } from './addon-files.mjs'
import { archive } from './archive.mjs'
import { packageLicences } from './licences.mjs'

/** The bundles of the server (`scripts/setup/bundle.mjs`). */
const BUNDLES = [
  'main.js',
  'cli.js',
  'actions.js',
  'primary.js',
  'license-texts.js',
  'markup-program.js',
  'worker-program.js',
  'process-spawner.js',
  'storage-peer.js',
]

/**
 * Returns the program that starts the server. Another major version of Node does not load the addons
 * (`process.versions.modules`), and would report that with a stack trace.
 */
const startProgram = (/** @type {string} */ major) => `#!/usr/bin/env node
if (process.versions.modules === '${process.versions.modules}') {
  await import('../dist/main.js')
} else {
  process.stderr.write(
    \`branchline: this installation is for Node ${major}, and this is Node \${process.versions.node}: install Node ${major}, or the tarball for this version.\\n\`,
  )
  process.exitCode = 1
}
`

/**
 * Writes a tarball of the bundled server into a folder. Its addons are compiled for this platform, C
 * library and major version of Node, which its name states. The same input gives the same bytes.
 * @param {string} folder
 * @returns {Promise<{ path: string, bytes: number }>}
 */
export async function pack(folder) {
  const { name, version, license, description } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const [major = ''] = process.versions.node.split('.')
  const libc = process.platform === 'linux' ? [currentLibc()] : []
  const target = [process.platform, process.arch, ...libc, `node${major}`].join('-')
  const manifest = {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { [name]: `bin/${name}` },
    engines: { node: `${major}.x` },
    os: [process.platform],
    cpu: [process.arch],
    libc,
  }
  const entries = [
    { path: 'package.json', content: `${JSON.stringify(manifest, undefined, 2)}\n` },
    { path: `bin/${name}`, content: startProgram(major), isProgram: true },
    { path: 'LICENSE', content: readFileSync(join(root, 'LICENSE')) },
    { path: 'LICENSES-OF-PACKAGES.txt', content: packageLicences() },
    ...BUNDLES.map((file) => ({
      path: `dist/${file}`,
      content: withoutSourceMap(readFileSync(join(root, 'dist', file), 'utf8')),
    })),
    ...readdirSync(webFolder)
      .sort()
      .map((file) => ({
        path: `dist/web/${file}`,
        content: readFileSync(join(webFolder, file)),
      })),
    ...(await addonFiles()).map((path) => ({ path, content: readFileSync(join(root, path)) })),
  ]
  const bytes = await archive(`${name}-${version}`, entries)
  const path = join(folder, `${name}-${version}-${target}.tar.gz`)
  writeFileSync(path, bytes)
  return { path, bytes: bytes.length }
}

/** The tarball has no source maps. */
function withoutSourceMap(/** @type {string} */ text) {
  return text.replace(/\/\/# sourceMappingURL=\S+\n$/, '')
}
