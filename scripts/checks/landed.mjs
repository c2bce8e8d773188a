import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, run } from '../setup/child-process.mjs'

/**
 * The API as it last landed, with which every later one must stay compatible: an image that Buf
 * reads.
 */
const landedImage = join('test', 'proto', 'landed.binpb')

/**
 * Makes the API as it is now the landed one.
 * @param {string} [workspace] the folder of buf.yaml
 */
export function land(workspace = root) {
  mkdirSync(join(workspace, dirname(landedImage)), { recursive: true })
  return run('buf', ['build', 'proto', '--output', landedImage], { cwd: workspace })
}

/**
 * Refuses what would break a client of the landed API, as buf.yaml's `breaking` section defines it.
 * @param {string} [workspace] the folder of buf.yaml
 * @returns {Promise<{ code: number | null, output: string } | { skipped: string }>}
 */
export async function checkBreaking(workspace = root) {
  if (!existsSync(join(workspace, landedImage))) return { skipped: 'nothing has landed yet' }
  return run('buf', ['breaking', 'proto', '--against', landedImage], { cwd: workspace })
}
