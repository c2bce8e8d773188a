import { isObjectId, type ObjectType } from '../../../git/core/object-ids.ts'
import type { Ref } from '../../../git/core/ref-names.ts'
import { readCommits } from '../../../git/history/history.ts'
import { inspectObject, inspectObjects, readObject } from '../../../git/objects/objects.ts'
import { parseTag, type RawTag } from '../../../git/objects/raw-objects.ts'
import { listTree, sizesOf, type TreeEntry } from '../../../git/objects/trees.ts'
import { listRefs } from '../../../git/refs/refs.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { Caller } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { type Verification, verifyObject } from './commit-verification.ts'
import { keptInline, MAX_INLINE_BYTES } from './contents.ts'
import { checkObjectId, findCommitId, isOwnRef, notFound, reading } from './git-reading.ts'

/** A ref, and what kind of object it names. */
export interface RefView extends Ref {
  readonly type: ObjectType
}

/** Refs of a repository. */
export interface RefsView {
  readonly open: OpenRepository
  /** The ref that has just the name that was asked for. */
  readonly exact: RefView | undefined
  /** Refs whose names begin with it, in the order of names. */
  readonly refs: readonly RefView[]
}

export interface TreeView {
  readonly open: OpenRepository
  readonly treeId: string
  readonly entries: readonly TreeEntry[]
  /** Bytes of blobs, by id. */
  readonly sizes: ReadonlyMap<string, number>
  /** Entries on all pages. */
  readonly total: number
}

export interface BlobView {
  readonly open: OpenRepository
  readonly id: string
  readonly bytes: number
  /** Undefined when there is too much of it. */
  readonly content: Buffer | undefined
}

export interface AnnotatedTagView {
  readonly open: OpenRepository
  readonly tag: RawTag
  readonly verification: Verification
}

/**
 * Refs answered at a time; who wants more of them asks for a longer beginning of their names, or
 * fetches.
 */
const MAX_REFS = 10_000

/** Kept of a tag: its message and a signature. */
const MAX_TAG_BYTES = 256 * 1024

/** What no ref has in its name (git-check-ref-format(1)); some of it would be a pattern. */
const UNFIT_FOR_REFS = /[\p{Cc} ~^:?*[\\]/u

/**
 * Refs by the beginning of their names.
 *
 * @param prefix without `refs/`.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND when there
 *   is none, SERVER_BUSY, GIT_TIMEOUT
 */
export async function listGitRefs(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  prefix: string,
): Promise<RefsView> {
  const open = await openRepository(app, caller, name, 'read')
  const { id } = open.repository
  const start = `refs/${prefix.replace(/^refs\//, '')}`
  const refs: Ref[] = []
  if (!UNFIT_FOR_REFS.test(start)) {
    // Git knows whole components only.
    const folder = start.slice(0, start.lastIndexOf('/') + 1)
    for await (const ref of listRefs(app.git, id, [folder])) {
      if (ref.name.startsWith(start) && !isOwnRef(ref.name)) refs.push(ref)
      if (refs.length === MAX_REFS) break
    }
  }
  if (refs.length === 0) throw notFound('REF_NOT_FOUND', 'ref', prefix)
  const types = await reading(inspectObjects(app.git, id, [...new Set(refs.map((ref) => ref.id))]))
  const views = refs.map((ref) => ({ ...ref, type: types.get(ref.id)?.type ?? 'commit' }))
  return { open, exact: views.find((ref) => ref.name === start), refs: views }
}

/**
 * A page of a tree.
 *
 * @param text id of a tree or commit, or what else names a commit.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, OBJECT_NOT_FOUND,
 *   SERVER_BUSY, GIT_TIMEOUT
 */
export async function getGitTree(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  text: string,
  page: { readonly recursive: boolean; readonly offset: number; readonly limit: number },
): Promise<TreeView> {
  const open = await openRepository(app, caller, name, 'read')
  const { id } = open.repository
  const treeId = await findTreeId(app, open.repository, text)
  if (treeId === undefined) throw notFound('OBJECT_NOT_FOUND', 'sha', text)
  const { entries, total } = await reading(listTree(app.git, id, treeId, page))
  return { open, treeId, entries, sizes: await reading(sizesOf(app.git, id, entries)), total }
}

async function findTreeId(
  app: ReposApp,
  repository: Repository,
  text: string,
): Promise<string | undefined> {
  const { id } = repository
  const named = isObjectId(text) ? await reading(inspectObject(app.git, id, text)) : undefined
  if (named?.type === 'tree') return named.id
  const commitId = await findCommitId(app, repository, text)
  return commitId && (await reading(readCommits(app.git, id, [commitId]))).get(commitId)?.treeId
}

/**
 * A blob by its id.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, OBJECT_NOT_FOUND,
 *   SERVER_BUSY, GIT_TIMEOUT
 */
export async function getGitBlob(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  sha: string,
): Promise<BlobView> {
  const open = await openRepository(app, caller, name, 'read')
  const blob = await reading(
    readObject(app.git, open.repository.id, checkObjectId(sha), keptInline),
  )
  if (blob?.type !== 'blob') throw notFound('OBJECT_NOT_FOUND', 'sha', sha)
  const { bytes, content } = blob
  return { open, id: blob.id, bytes, content: bytes > MAX_INLINE_BYTES ? undefined : content }
}

/**
 * A tag that is an object of its own, by its id.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, OBJECT_NOT_FOUND,
 *   TAG_NOT_ANNOTATED, SERVER_BUSY, GIT_TIMEOUT
 */
export async function getAnnotatedTag(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  sha: string,
): Promise<AnnotatedTagView> {
  const open = await openRepository(app, caller, name, 'read')
  const object = await reading(
    readObject(app.git, open.repository.id, checkObjectId(sha), MAX_TAG_BYTES),
  )
  if (!object) throw notFound('OBJECT_NOT_FOUND', 'sha', sha)
  if (object.type !== 'tag') throw notFound('TAG_NOT_ANNOTATED', 'sha', sha)
  const tag = parseTag(object.id, object.content)
  const { signature, tagger: committer } = tag
  return {
    open,
    tag,
    verification: await verifyObject(app, caller, { id: tag.id, signature, committer }),
  }
}
