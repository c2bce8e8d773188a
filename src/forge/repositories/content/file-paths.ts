import { bytesOfPaths, listPaths, type PathList } from '../../../platform/git/objects/trees.ts'
import type { Caller } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { admitContent, findCommitId, notFound, reading } from './git-reading.ts'

/** The paths of the files of a commit. */
interface FilePaths extends PathList {
  /** Undefined for an empty repository. */
  readonly commitId: string | undefined
}

/**
 * Returns the paths of all files of a commit.
 *
 * @param ref name of a branch or tag, or id of a commit; empty for the default branch
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND, SERVER_BUSY,
 *   GIT_TIMEOUT
 */
export async function listFilePaths(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ref: string,
): Promise<FilePaths> {
  const { repository } = await openRepository(app, caller, name, 'read')
  const commitId = await findCommitId(app, repository, ref)
  if (commitId === undefined) {
    if (ref !== '') throw notFound('REF_NOT_FOUND', 'ref', ref)
    return { commitId, paths: [], isTruncated: false }
  }
  const list = await reading(listPaths(app.git, repository.id, commitId))
  admitContent(bytesOfPaths(list.paths))
  return { commitId, ...list }
}
