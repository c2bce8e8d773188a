import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run } from '../setup/child-process.mjs'

/**
 * Fails for changes that would break a client of an earlier API, as the section `breaking` of
 * buf.yaml defines them. `base` names the commit of the earlier API. The default is the last
 * release, or else what this branch started from.
 * @param {{ workspace?: string, base?: string }} [options] `workspace` is the folder of buf.yaml
 * @returns {Promise<{ code: number | null, output: string } | { skipped: string }>}
 */
export async function checkBreaking({ workspace = root, base = process.env.BRANCHLINE_BASE } = {}) {
  const prefix = await git(workspace, 'rev-parse', '--show-prefix')
  if (prefix !== '') return { skipped: 'this folder is not a Git checkout' }
  const commit = base
    ? await commitOf(workspace, base)
    : ((await lastRelease(workspace)) ?? (await startOfBranch(workspace)))
  if (commit !== undefined) return compare(workspace, commit)
  if (base) return { code: 1, output: `BRANCHLINE_BASE: there is no commit ${base} in this clone.` }
  return {
    skipped:
      'this clone has no earlier commit to compare with: fetch more, or name one in BRANCHLINE_BASE',
  }
}

/** A version is tagged with its number, such as v1.2.0. */
async function lastRelease(/** @type {string} */ workspace) {
  const tag = await git(workspace, 'describe', '--tags', '--abbrev=0', '--match=v[0-9]*')
  return tag && commitOf(workspace, tag)
}

/**
 * Returns the newest commit that the branch shares with `main` of the remote. In a clone of `main`
 * itself, that is the present commit, and the one before is the base.
 */
async function startOfBranch(/** @type {string} */ workspace) {
  const head = await commitOf(workspace, 'HEAD')
  const shared = await git(workspace, 'merge-base', 'HEAD', 'refs/remotes/origin/main')
  return shared && shared !== head ? shared : commitOf(workspace, 'HEAD^')
}

/** The image of the earlier API is built with the packages that are installed now. */
async function compare(/** @type {string} */ workspace, /** @type {string} */ commit) {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-base-'))
  try {
    const archive = join(folder, 'base.tar')
    const steps = [
      ['git', 'archive', `--output=${archive}`, commit, 'buf.yaml', 'proto'],
      ['tar', '-xf', archive, '-C', folder],
    ]
    for (const [program = '', ...args] of steps) {
      const result = await run(program, args, { cwd: workspace })
      if (result.code !== 0) return result
    }
    symlinkSync(join(workspace, 'node_modules'), join(folder, 'node_modules'))
    const result = await run('buf', ['breaking', 'proto', '--against', join(folder, 'proto')], {
      cwd: workspace,
    })
    if (result.code === 0) return result
    return { ...result, output: `${result.output}The earlier API is that of ${commit}.\n` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function commitOf(/** @type {string} */ workspace, /** @type {string} */ revision) {
  return git(workspace, 'rev-parse', '--quiet', '--verify', `${revision}^{commit}`)
}

/** Returns what a Git command prints, or undefined if the command fails. */
async function git(/** @type {string} */ workspace, /** @type {readonly string[]} */ ...args) {
  const { code, output } = await run('git', args, { cwd: workspace })
  return code === 0 ? output.trim() : undefined
}
