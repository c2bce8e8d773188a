import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { root, run } from '../setup/child-process.mjs'
import { Failure } from '../setup/progress.mjs'
import { archive } from './archive.mjs'

/** The name of the package, as in its README. */
const NAME = 'connect-one-port'

const MODULE = 'src/platform/rpc'

/** Generated code that the module imports, by `#gen/`. */
const GENERATED = ['google', 'rest']

/** The options of REST methods, for the schemas of others. */
const OPTIONS = 'proto/rest/v1/rest.proto'

/**
 * Writes the RPC module as an npm package of its own: JavaScript with types. The same input gives
 * the same bytes. Throws a `Failure` if the module does not compile by itself.
 * @param {string} folder
 * @returns {Promise<{ path: string, bytes: number }>}
 */
export async function packRpc(folder) {
  const { version, license, engines, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const { '@bufbuild/protobuf': protobuf, negotiator } = dependencies
  const manifest = {
    name: NAME,
    version,
    license,
    type: 'module',
    exports: {
      '.': { types: './lib/index.d.ts', default: './lib/index.js' },
      './rest.proto': './proto/rest/v1/rest.proto',
    },
    engines,
    dependencies: { negotiator },
    peerDependencies: {
      '@bufbuild/protobuf': `^${protobuf}`,
      // The module uses unstable exports, see the README.
      '@connectrpc/connect': dependencies['@connectrpc/connect'],
      '@connectrpc/connect-node': dependencies['@connectrpc/connect-node'],
    },
  }
  const scratch = mkdtempSync(join(tmpdir(), 'branchline-rpc-'))
  try {
    await compile(scratch)
    const compiled = filesBelow(join(scratch, 'out')).map((path) => ({
      path,
      content: withJsImports(readFileSync(join(scratch, 'out', path), 'utf8'), path),
    }))
    const bytes = await archive('package', [
      { path: 'package.json', content: `${JSON.stringify(manifest, undefined, 2)}\n` },
      { path: 'README.md', content: readme() },
      { path: 'LICENSE', content: readFileSync(join(root, 'LICENSE')) },
      { path: 'proto/rest/v1/rest.proto', content: readFileSync(join(root, OPTIONS)) },
      ...compiled,
    ])
    const path = join(folder, `${NAME}-${version}.tgz`)
    writeFileSync(path, bytes)
    return { path, bytes: bytes.length }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Returns the README with links to files of the package. */
function readme() {
  return readFileSync(join(root, MODULE, 'README.md'), 'utf8').replaceAll('](../../../', '](./')
}

/** Compiles a copy of the module without the rest of the project. */
async function compile(/** @type {string} */ scratch) {
  cpSync(join(root, MODULE), join(scratch, 'lib'), { recursive: true })
  for (const name of GENERATED)
    cpSync(join(root, 'gen', name), join(scratch, 'gen', name), { recursive: true })
  for (const path of filesBelow(scratch).filter((name) => name.endsWith('.ts'))) {
    const file = join(scratch, path)
    const gen = relative(dirname(path), 'gen')
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll("'#gen/", `'${gen}/`))
  }
  const options = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: scratch,
    outDir: join(scratch, 'out'),
  }
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: options,
    include: [join(scratch, 'lib', 'index.ts')],
  }
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(scratch, 'package.json'), '{"type":"module"}')
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'))
  const { code, output } = await run('tsc', ['-p', scratch])
  if (code !== 0) throw new Failure('The RPC module does not compile by itself.', output)
}

/** Imports of types keep the extension `.ts`, which only sources have. */
function withJsImports(/** @type {string} */ text, /** @type {string} */ path) {
  return path.endsWith('.d.ts') ? text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'") : text
}

function filesBelow(/** @type {string} */ folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}
