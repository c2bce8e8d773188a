import { posix } from 'node:path'
import { textOfPath } from '../core/path-text.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { kindOf } from './trees.ts'

/** Memory of all cached sums, and of one without its key. */
const MAX_SUMS_BYTES = 4 * 1024 ** 2
const SUM_BYTES = 100

/** Names of folders for third-party code and generated files. */
const FOREIGN_FOLDERS: ReadonlySet<string> = new Set([
  'vendor',
  'third_party',
  'node_modules',
  'bower_components',
  'dist',
])

/** Longest record of git-ls-tree(1) that is read. */
const MAX_RECORD_BYTES = 8 * 1024

/**
 * Returns the total size of the files of a commit in bytes, by file extension in lower case (`.ts`)
 * or by the name of a file without an extension (`Makefile`). Third-party code does not count. The
 * sums of a commit never change and are cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function sizesByExtension(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<ReadonlyMap<string, number>> {
  const cache = resultsOf<ReadonlyMap<string, number>>(
    repositories,
    'file sizes',
    MAX_SUMS_BYTES,
    memoryOf,
  )
  return cache.get(id, commitId, () => addUp(repositories, id, commitId))
}

/** Clients can push any number of extensions. */
function memoryOf(sums: ReadonlyMap<string, number>): number {
  return [...sums.keys()].reduce((bytes, key) => bytes + key.length * 2 + SUM_BYTES, 0)
}

async function addUp(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>()
  const args = ['ls-tree', '-r', '-z', '--long', '--full-tree', commitId]
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_RECORD_BYTES)) {
    // `mode type id size<TAB>path`, with blanks before the size (git-ls-tree(1)).
    const tab = record.indexOf('\t')
    const [mode = '', , , bytes = ''] = record.toString('latin1', 0, tab).split(/ +/)
    if (kindOf(Number.parseInt(mode, 8)) !== 'file') continue
    const path = textOfPath(record.subarray(tab + 1))
    if (path.split('/').some((folder) => FOREIGN_FOLDERS.has(folder))) continue
    const name = posix.basename(path)
    const key = posix.extname(name).toLowerCase() || name
    sums.set(key, (sums.get(key) ?? 0) + Number(bytes))
  }
  return sums
}
