import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildBench } from '../../scripts/setup/bench-programs.mjs'
import { run } from '../../scripts/setup/child-process.mjs'
import { ROOT } from '../support/markdown.ts'

/** One group of each kind, for the usual tests. */
export const LIGHT_GROUPS = ['protocols', 'reads', 'merges']

/** Groups with a database of their own or a browser, which take some fifteen core-seconds each. */
export const HEAVY_GROUPS = ['scaling', 'scale', 'web', 'web-slow']

/**
 * Runs `npm run bench -- --check` without the set-up of the clone.
 *
 * @returns the names of the groups that printed figures.
 * @throws Error with the output if a response is wrong.
 */
export async function checkBench(...args: readonly string[]): Promise<readonly string[]> {
  // In the clone, so that the bundles find the packages.
  const outdir = await mkdtemp(join(ROOT, 'dist', 'bench-'))
  try {
    const programs = await buildBench(outdir)
    const { code, output } = await run(process.execPath, [...programs, '--check', ...args])
    if (code !== 0) throw new Error(output)
    return headingsOf(output)
  } finally {
    await rm(outdir, { recursive: true })
  }
}

/** Returns the names of the groups whose figures the page shows. */
export async function groupsOfPage(): Promise<readonly string[]> {
  return headingsOf(await readFile(join(ROOT, 'docs', 'performance.md'), 'utf8'))
}

function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^### (.+)$/gm)].flatMap(([, name]) => name ?? [])
}
