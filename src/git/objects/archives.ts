import type { Ref } from '../core/ref-names.ts'
import { streamGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** How files become an archive. */
export interface ArchiveOptions {
  readonly format: 'tar.gz' | 'zip'
  /** That everything in it is in; a name without a slash. */
  readonly folder: string
  /** Files and folders that the archive is to have, each of which exists; empty for all. */
  readonly paths: readonly string[]
}

/**
 * The files of a commit as an archive, as fast as it is taken (git-archive(1)).
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function streamArchive(
  repositories: Repositories,
  id: number,
  commitId: string,
  { format, folder, paths }: ArchiveOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const args = ['archive', `--format=${format}`, `--prefix=${folder}/`, commitId, '--', ...paths]
  return streamGit(repositories, id, args)
}

/**
 * The whole history of some refs as a bundle of version 2 (gitformat-bundle(5)), as fast as it is
 * taken. `git bundle` itself bundles refs that exist only, and not a commit under the name HEAD.
 *
 * @param refs by the names that the bundle gives to their objects.
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
    // With the first bytes of Git, so that what fails before them can still be refused.
    yield header ? Buffer.concat([header, chunk]) : chunk
    header = undefined
  }
}
