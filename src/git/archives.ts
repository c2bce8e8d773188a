import { streamGit } from './reading.ts'
import type { Repositories } from './repositories.ts'

export type ArchiveFormat = 'tar.gz' | 'zip'

/**
 * All files of a commit as an archive, as fast as it is taken (git-archive(1)).
 *
 * @param folder that everything in it is in; a name without a slash.
 * @throws GitError BUSY, TIMEOUT
 */
export function streamArchive(
  repositories: Repositories,
  id: number,
  commitId: string,
  format: ArchiveFormat,
  folder: string,
): AsyncGenerator<Buffer, void, undefined> {
  return streamGit(repositories, id, ['archive', `--format=${format}`, `--prefix=${folder}/`, commitId])
}
