import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'

/** Returns the licences of the installed packages that the server contains, as one text. */
export function packageLicences() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(root, path)))
    .map(([path, { version, license = 'not stated' }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return `${name} ${version} (${license})\n\n${licenceIn(join(root, path))}`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function licenceIn(/** @type {string} */ folder) {
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)\b/i.test(name))
  return file === undefined ? '' : `${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
