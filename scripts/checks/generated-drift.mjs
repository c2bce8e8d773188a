import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { root, run } from '../setup/child-process.mjs'

/**
 * Returns the differences between a folder and its wanted content, one line for each file.
 * @param {string} wanted
 * @param {string} found
 */
export function differences(wanted, found) {
  const wantedFiles = filesIn(wanted)
  const foundFiles = filesIn(found)
  return [...new Set([...wantedFiles, ...foundFiles])].sort().flatMap((file) => {
    if (!foundFiles.has(file)) return [`missing: ${file}`]
    if (!wantedFiles.has(file)) return [`left over: ${file}`]
    return readFileSync(join(wanted, file)).equals(readFileSync(join(found, file)))
      ? []
      : [`out of date: ${file}`]
  })
}

/**
 * Generates code into a temporary folder and compares it with gen/, which does not change.
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export async function checkGenerated() {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-gen-'))
  try {
    const generated = await run('buf', ['generate', '-o', folder])
    if (generated.code !== 0) return generated
    const lines = differences(join(folder, 'gen'), join(root, 'gen'))
    if (lines.length === 0) return { code: 0, output: '' }
    return {
      code: 1,
      output: `${lines.join('\n')}\ngen/ is not what proto/ generates: run \`npm run generate\`.`,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function filesIn(/** @type {string} */ folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return new Set(
    entries.filter((e) => e.isFile()).map((e) => relative(folder, join(e.parentPath, e.name))),
  )
}
