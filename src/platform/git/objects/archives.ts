import type { Ref } from '../core/ref-names.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** Options of an archive. */
export interface ArchiveOptions {
  readonly format: 'tar' | 'tar.gz' | 'zip'
  /** What each path in the archive begins with. */
  readonly prefix: string
  /** Level of compression; undefined for that of Git. No level for `tar`. */
  readonly level?: number | undefined
  /** Existing files and folders to include. Empty: all. */
  readonly paths: readonly string[]
}

/**
 * Streams the files of a commit as an archive (git-archive(1)).
 *
 * @param tree id of a commit, or the id, a colon and the path of an existing folder.
 * @throws GitError BUSY, TIMEOUT
 */
export function streamArchive(
  repositories: Repositories,
  id: number,
  tree: string,
  { format, prefix, level, paths }: ArchiveOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const flags = level === undefined || format === 'tar' ? [] : [`-${level}`]
  const args = [
    'archive',
    `--format=${format}`,
    `--prefix=${prefix}`,
    ...flags,
    tree,
    '--',
    ...paths,
  ]
  return streamGit(repositories, id, args)
}

/**
 * Streams the history of refs as a bundle of version 2 (gitformat-bundle(5)). `git bundle` bundles
 * existing refs only, and no commit under the name HEAD.
 *
 * @param refs objects with the names that they get in the bundle. The refs need not exist.
 * @throws GitError BUSY, TIMEOUT
 */
export async function* streamBundle(
  repositories: Repositories,
  id: number,
  refs: readonly Ref[],
): AsyncGenerator<Buffer, void, undefined> {
  const lines = refs.map((ref) => `${ref.id} ${ref.name}\n`).join('')
  const input = refs.map((ref) => `${ref.id}\n`).join('')
  const args = ['pack-objects', '--stdout', '--revs', '--delta-base-offset', '--threads=1', '-q']
  let header: Buffer | undefined = Buffer.from(`# v2 git bundle\n${lines}\n`)
  for await (const chunk of streamGit(repositories, id, args, { input })) {
    // The header comes with the first output of Git, so an earlier failure can still be refused.
    yield header ? Buffer.concat([header, chunk]) : chunk
    header = undefined
  }
}
