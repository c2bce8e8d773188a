import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'

/**
 * The licences of the libraries that nodegit.node contains. Those of libssh2 and PCRE ask for their
 * text beside a compiled copy. SQLite, which better_sqlite3.node contains, is in the public domain.
 */
const LIBRARIES = {
  libgit2: 'libgit2/COPYING',
  PCRE: 'libgit2/deps/pcre/LICENCE',
  zlib: 'libgit2/deps/zlib/LICENSE',
  libssh2: 'libssh2/COPYING',
  http_parser: 'http_parser/LICENSE-MIT',
}

/**
 * Returns the licences of the installed packages and compiled libraries that the server contains, as
 * one text.
 */
export function packageLicences() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const ofPackages = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(root, path)))
    .map(([path, { version, license = 'not stated' }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return `${name} ${version} (${license})\n\n${licenceIn(join(root, path))}`
    })
  const vendor = join(root, 'node_modules', 'nodegit', 'vendor')
  const ofLibraries = Object.entries(LIBRARIES).map(([name, file]) => {
    return `${name} (compiled into nodegit)\n\n${readFileSync(join(vendor, file), 'utf8').trim()}\n`
  })
  return [...ofPackages, ...ofLibraries].join(`\n${'-'.repeat(80)}\n\n`)
}

function licenceIn(/** @type {string} */ folder) {
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)\b/i.test(name))
  return file === undefined ? '' : `${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
