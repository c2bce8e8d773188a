import { HEADS, TAGS } from '../../../platform/git/core/ref-names.ts'
import {
  type ArchiveOptions,
  streamArchive,
  streamBundle,
} from '../../../platform/git/objects/archives.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { findEntry, treePath } from '../../../platform/git/objects/trees.ts'
import { isRefName, readRef } from '../../../platform/git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { filesOfTar, tarArchive } from './archived-files.ts'
import { commitIdOf, notFound, readingStream } from './git-reading.ts'
import { objectsOfArchive, withObjects } from './lfs-archives.ts'
import { zipArchive } from './zip-archives.ts'

export type ArchiveFormat = 'tar.gz' | 'zip' | 'bundle'

/** A request for an archive of a repository. */
export interface ArchiveRequest {
  /** Name of a branch or tag, or id of a commit, followed by the extension of a format. */
  readonly archive: string
  /** Paths to include in an archive of files; empty for all. Bundles do not support it. */
  readonly path: readonly string[]
  /** Whether objects of Git LFS take the places of their pointers. Bundles do not support it. */
  readonly lfs: boolean
}

/** An archive, ready to be streamed. */
export interface Archive {
  /** File name. */
  readonly name: string
  readonly format: ArchiveFormat
  /** What determines the content: the id of the commit or tag object, and the objects of Git LFS. */
  readonly objectId: string
  readonly chunks: AsyncIterable<Buffer>
}

const FORMATS: readonly ArchiveFormat[] = ['tar.gz', 'zip', 'bundle']

/** The number of paths of one archive. Each path is looked up before Git starts. */
const MAX_PATHS = 100

/** Characters that are not safe in file names on all platforms. */
const UNFIT_FOR_FILES = /[^A-Za-z0-9._-]+/g

/** Returns the files of a commit as an archive, or its history as a bundle. */
export async function getArchive(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { archive, path: given, lfs }: ArchiveRequest,
): Promise<Archive> {
  // `path=` is what an empty form field sends.
  const path = given.filter((text) => text !== '')
  const { repository } = await openRepository(app, caller, name, 'read')
  const format = FORMATS.find((known) => archive.endsWith(`.${known}`))
  if (!format) throw new DomainError('INVALID_FIELD', { field: 'archive' })
  const ref = archive.slice(0, -format.length - 1)
  const commitId = await commitIdOf(app, repository, ref)
  const file = { name: `${repository.name}-${ref.replace(UNFIT_FOR_FILES, '-')}.${format}`, format }
  if (format !== 'bundle') {
    const paths = await existingPaths(app, repository, commitId, path)
    const prefix = `${repository.name}/`
    const chunksAs = (as: ArchiveOptions['format']) =>
      readingStream(streamArchive(app.git, repository.id, commitId, { format: as, prefix, paths }))
    if (!lfs) return { ...file, objectId: commitId, chunks: chunksAs(format) }
    const objects = await objectsOfArchive(app, repository.id, treesOf(commitId, paths))
    const files = withObjects(app, filesOfTar(chunksAs('tar')), objects)
    const chunks = format === 'zip' ? zipArchive(files) : tarArchive(files)
    return { ...file, objectId: `${commitId}-lfs-${objects.size}`, chunks }
  }
  if (lfs) throw new DomainError('INVALID_FIELD', { field: 'lfs' })
  if (path.length > 0) throw new DomainError('INVALID_FIELD', { field: 'path' })
  const refs = await bundledRefs(app, repository, ref, commitId)
  const objectId = refs.at(-1)?.id ?? commitId
  return { ...file, objectId, chunks: readingStream(streamBundle(app.git, repository.id, refs)) }
}

/** Returns the names of the trees and files of an archive. */
function treesOf(commitId: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [`${commitId}^{tree}`] : paths.map((path) => `${commitId}:${path}`)
}

/**
 * Returns the refs of a bundle: HEAD, which a clone of the bundle checks out, and the requested
 * branch or tag. An annotated tag keeps its tag object.
 */
async function bundledRefs(
  app: ReposApp,
  { id, default_branch }: Repository,
  text: string,
  commitId: string,
) {
  const name = text === '' || text === 'HEAD' ? default_branch : text
  const refs = [{ name: 'HEAD', id: commitId }]
  if (!isRefName(name)) return refs
  for (const candidate of name.startsWith('refs/') ? [name] : [HEADS + name, TAGS + name]) {
    const held = await readRef(app.git, id, candidate)
    if (held !== undefined) return [...refs, { name: candidate, id: held }]
  }
  return refs
}

/** Returns the normalised paths, all of which exist in the commit. */
export async function existingPaths(
  app: ReposApp,
  { id }: Pick<Repository, 'id'>,
  commitId: string,
  texts: readonly string[],
): Promise<readonly string[]> {
  if (texts.length === 0) return []
  if (texts.length > MAX_PATHS)
    throw new DomainError('INVALID_FIELD', { field: 'path', max_items: String(MAX_PATHS) })
  const commit = await readCommit(app.git, id, commitId)
  if (!commit) throw notFound('REF_NOT_FOUND', 'ref', commitId)
  const paths: string[] = []
  for (const text of texts) {
    const path = treePath(text)
    if (path === '') return []
    if (path === undefined || !(await findEntry(app.git, id, commit.treeId, path)))
      throw notFound('PATH_NOT_FOUND', 'path', text)
    paths.push(path)
  }
  return paths
}
