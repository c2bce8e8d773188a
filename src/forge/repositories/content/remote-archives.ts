import { isReached } from '../../../platform/git/history/reached-commits.ts'
import { streamArchive } from '../../../platform/git/objects/archives.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { existingPaths } from './archives.ts'
import { commitIdOf, notFound, reading, readingStream } from './git-reading.ts'

/** An archive as `git archive --remote` asks for it. */
export interface RemoteArchive {
  readonly format: 'tar' | 'tar.gz' | 'zip'
  /** What each path of the archive begins with. */
  readonly prefix: string
  /** Level of compression; undefined for that of Git. */
  readonly level: number | undefined
  /** A branch, a tag or a commit, and perhaps a colon and the path of a folder. */
  readonly tree: string
  /** Files and folders to include. Empty: all. */
  readonly paths: readonly string[]
}

/**
 * Opens an archive of files for a reader of a repository. As Git does (uploadArchive.allowUnreachable
 * of git-config(1)), only of what a ref reaches.
 *
 * @throws REF_NOT_FOUND, PATH_NOT_FOUND, INVALID_FIELD for too many paths
 */
export async function openRemoteArchive(
  app: ReposApp,
  repository: Repository,
  { tree, paths: given, ...options }: RemoteArchive,
): Promise<AsyncIterable<Buffer>> {
  const colon = tree.indexOf(':')
  const [ref, folder] = colon < 0 ? [tree, ''] : [tree.slice(0, colon), tree.slice(colon + 1)]
  const commitId = await commitIdOf(app, repository, ref === 'HEAD' ? '' : ref)
  if (!(await reading(isReached(app.git, repository.id, commitId))))
    throw notFound('REF_NOT_FOUND', 'ref', ref)
  if (folder !== '' && given.length > 0) throw new DomainError('INVALID_FIELD', { field: 'path' })
  const [root] = folder === '' ? [] : await existingPaths(app, repository, commitId, [folder])
  const paths = await existingPaths(app, repository, commitId, given)
  const source = root === undefined ? commitId : `${commitId}:${root}`
  return readingStream(streamArchive(app.git, repository.id, source, { ...options, paths }))
}
