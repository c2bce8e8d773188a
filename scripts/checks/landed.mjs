import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, run } from '../setup/child-process.mjs'

/** The API as it last landed, as an image of Buf. Every later API must stay compatible with it. */
const landedImage = join('test', 'proto', 'landed.binpb')

/**
 * Stores the present API as the landed one.
 * @param {string} [workspace] the folder of buf.yaml
 */
export function land(workspace = root) {
  mkdirSync(join(workspace, dirname(landedImage)), { recursive: true })
  return run('buf', ['build', 'proto', '--output', landedImage], { cwd: workspace })
}

/**
 * Fails for changes that would break a client of the landed API, as the section `breaking` of
 * buf.yaml defines them.
 * @param {string} [workspace] the folder of buf.yaml
 * @returns {Promise<{ code: number | null, output: string } | { skipped: string }>}
 */
export async function checkBreaking(workspace = root) {
  if (!existsSync(join(workspace, landedImage))) return { skipped: 'nothing has landed yet' }
  return run('buf', ['breaking', 'proto', '--against', landedImage], { cwd: workspace })
}
