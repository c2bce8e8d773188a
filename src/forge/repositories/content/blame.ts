import { blameFile, type FileBlame, MAX_BLAMED_LINES } from '../../../platform/git/history/blame.ts'
import { readCommits } from '../../../platform/git/history/history.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { entryAt, openPlace } from './contents.ts'
import { notFound, reading } from './git-reading.ts'
import type { RefPath } from './ref-paths.ts'

/** Authors of the lines of a file. */
export interface Blame extends FileBlame {
  readonly open: OpenRepository
  /** The commits of the ranges, in the order of their first lines. */
  readonly commits: readonly RawCommit[]
}

/** The bytes read of a commit for its author and its subject. */
const MAX_COMMIT_BYTES = 4096

/** Stands for invalid UTF-8 in a path, which cannot be an argument of a process. */
const REPLACEMENT = '\ufffd'

/**
 * Returns which commit wrote each line of a file.
 *
 * @param asked with `bypassesIgnoreFile`: whether `.git-blame-ignore-revs` has no effect
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   PATH_NOT_FOUND, FILE_TOO_LARGE, SERVER_BUSY, GIT_TIMEOUT
 */
export async function getBlame(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { ref, path, bypassesIgnoreFile }: RefPath & { readonly bypassesIgnoreFile: boolean },
): Promise<Blame> {
  const open = await openRepository(app, caller, name, 'read')
  const place = await openPlace(app, open, ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind !== 'file' || entry.path.includes(REPLACEMENT))
    throw notFound('PATH_NOT_FOUND', 'path', path)
  const { id } = open.repository
  const { commitId, treeId } = place
  const file = { commitId, treeId, path: entry.path, blobId: entry.id, bypassesIgnoreFile }
  const blame = await reading(blameFile(app.git, id, file))
  if (!blame) throw new DomainError('FILE_TOO_LARGE', { limit: String(MAX_BLAMED_LINES) })
  const ids = [...new Set(blame.ranges.map((range) => range.commitId))]
  const found = await reading(readCommits(app.git, id, ids, MAX_COMMIT_BYTES))
  return { ...blame, open, commits: ids.flatMap((wanted) => found.get(wanted) ?? []) }
}
