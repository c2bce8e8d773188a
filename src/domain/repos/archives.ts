import { type ArchiveFormat, streamArchive } from '../../git/archives.ts'
import type { Caller } from '../access.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { commitIdOf, readingStream } from './git-reading.ts'
import { openRepository } from './permissions.ts'

/** An archive to be sent. */
export interface Archive {
  /** Name for the file. */
  readonly name: string
  readonly format: ArchiveFormat
  readonly chunks: AsyncIterable<Buffer>
}

const FORMATS: readonly ArchiveFormat[] = ['tar.gz', 'zip']

/** Characters that are fine in the name of a file everywhere. */
const UNFIT_FOR_FILES = /[^A-Za-z0-9._-]+/g

/**
 * All files of a commit as an archive.
 *
 * @param text name of a branch or tag, or id of a commit, and the ending of a format.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, INVALID_FIELD, REF_NOT_FOUND; while it is made SERVER_BUSY,
 *   GIT_TIMEOUT
 */
export async function getArchive(
  app: App,
  caller: Caller,
  ownerName: string,
  name: string,
  text: string,
): Promise<Archive> {
  const { repository } = await openRepository(app, caller, ownerName, name, 'read')
  const format = FORMATS.find((known) => text.endsWith(`.${known}`))
  if (!format) throw new DomainError('INVALID_FIELD', { field: 'archive' })
  const ref = text.slice(0, -format.length - 1)
  const commitId = await commitIdOf(app, repository, ref)
  return {
    name: `${repository.name}-${ref.replace(UNFIT_FOR_FILES, '-')}.${format}`,
    format,
    chunks: readingStream(streamArchive(app.git, repository.id, commitId, format, repository.name)),
  }
}
