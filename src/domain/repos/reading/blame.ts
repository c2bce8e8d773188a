import { type BlamedLines, blameFile } from '../../../git/history/blame.ts'
import { readCommits } from '../../../git/history/history.ts'
import { readObject } from '../../../git/objects/objects.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { entryAt, openPlace } from './contents.ts'
import { notFound, reading } from './git-reading.ts'
import type { RefPath } from './ref-paths.ts'

/** Who wrote the lines of a file. */
export interface Blame {
  readonly open: OpenRepository
  /** In the order of the file, without gaps. */
  readonly ranges: readonly BlamedLines[]
  /** The commits of the ranges, in the order of their first lines. */
  readonly commits: readonly RawCommit[]
}

/**
 * The largest file, since Git compares the file with its content in every commit that changed it.
 */
const MAX_BYTES = 1024 * 1024
const MAX_LINES = 10_000

/** The bytes read of a commit for its author and its subject. */
const MAX_COMMIT_BYTES = 4096

/** Stands for invalid UTF-8 in a path, which cannot be an argument of a process. */
const REPLACEMENT = '\ufffd'

const LINE_FEED = 0x0a

/**
 * Returns which commit wrote each line of a file.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   PATH_NOT_FOUND, FILE_TOO_LARGE, SERVER_BUSY, GIT_TIMEOUT
 */
export async function getBlame(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { ref, path }: RefPath,
): Promise<Blame> {
  const open = await openRepository(app, caller, name, 'read')
  const place = await openPlace(app, open, ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind !== 'file' || entry.path.includes(REPLACEMENT))
    throw notFound('PATH_NOT_FOUND', 'path', path)
  const { id } = open.repository
  await checkSize(app, id, entry.id)
  const ranges = await reading(blameFile(app.git, id, place.commitId, entry.path))
  const ids = [...new Set(ranges.map(({ commitId }) => commitId))]
  const found = await reading(readCommits(app.git, id, ids, MAX_COMMIT_BYTES))
  return { open, ranges, commits: ids.flatMap((commitId) => found.get(commitId) ?? []) }
}

/** @throws FILE_TOO_LARGE */
async function checkSize(app: ReposApp, id: number, blobId: string): Promise<void> {
  const blob = await reading(
    readObject(app.git, id, blobId, ({ bytes }) => (bytes > MAX_BYTES ? 0 : bytes)),
  )
  const content = blob?.content ?? Buffer.alloc(0)
  let lines = 0
  for (let at = content.indexOf(LINE_FEED); at >= 0; at = content.indexOf(LINE_FEED, at + 1))
    lines += 1
  if ((blob?.bytes ?? 0) > MAX_BYTES || lines > MAX_LINES)
    throw new DomainError('FILE_TOO_LARGE', { limit: String(MAX_LINES) })
}
