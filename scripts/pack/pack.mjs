import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'
import { addonFiles } from './addon-files.mjs'
import { archive } from './archive.mjs'
import { packageLicences } from './licences.mjs'

/** The bundles of the server (`scripts/setup/bundle.mjs`). */
const BUNDLES = ['main.js', 'cli.js', 'actions.js', 'process-spawner.js']

const START = "#!/usr/bin/env node\nimport '../dist/main.js'\n"

/**
 * Writes a tarball of the bundled server into a folder. Its addons are compiled for this platform and
 * this major version of Node, which its name states. The same input gives the same bytes.
 * @param {string} folder
 * @returns {Promise<{ path: string, bytes: number }>}
 */
export async function pack(folder) {
  const { name, version, license, description, engines } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const [major] = process.versions.node.split('.')
  const target = `${process.platform}-${process.arch}-node${major}`
  const manifest = {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { [name]: `bin/${name}` },
    engines,
    os: [process.platform],
    cpu: [process.arch],
  }
  const entries = [
    { path: 'package.json', content: `${JSON.stringify(manifest, undefined, 2)}\n` },
    { path: `bin/${name}`, content: START, isProgram: true },
    { path: 'LICENSE', content: readFileSync(join(root, 'LICENSE')) },
    { path: 'LICENSES-OF-PACKAGES.txt', content: packageLicences() },
    ...BUNDLES.map((file) => ({
      path: `dist/${file}`,
      content: withoutSourceMap(readFileSync(join(root, 'dist', file), 'utf8')),
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
