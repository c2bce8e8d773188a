import { isObjectId, type ObjectType } from '../../../platform/git/core/object-ids.ts'
import type { Ref } from '../../../platform/git/core/ref-names.ts'
import { readCommits } from '../../../platform/git/history/history.ts'
import { inspectObject, inspectObjects, readObject } from '../../../platform/git/objects/objects.ts'
import { parseTag, type RawTag } from '../../../platform/git/objects/raw-objects.ts'
import { listTree, sizesOf, type TreeEntry } from '../../../platform/git/objects/trees.ts'
import { listRefs } from '../../../platform/git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { type Verification, verifyObject } from '../commits/commit-verification.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { inlineBytesToRead, MAX_INLINE_BYTES } from './contents.ts'
import { checkObjectId, findCommitId, isOwnRef, notFound, reading } from './git-reading.ts'

/** A ref, with the type of its object. */
export interface RefView extends Ref {
  readonly type: ObjectType
}

/** The refs that match a prefix. */
export interface RefsView {
  readonly open: OpenRepository
  /** The ref with exactly the requested name. */
  readonly exact: RefView | undefined
  /** The refs whose names start with the prefix, sorted by name. */
  readonly refs: readonly RefView[]
}

export interface TreeView {
  readonly open: OpenRepository
  readonly treeId: string
  readonly entries: readonly TreeEntry[]
  /** Sizes of blobs in bytes, by id. */
  readonly sizes: ReadonlyMap<string, number>
  /** The number of entries on all pages. */
  readonly total: number
}

export interface BlobView {
  readonly open: OpenRepository
  readonly id: string
  readonly bytes: number
  /** Undefined if the blob is too large. */
  readonly content: Buffer | undefined
}

export interface AnnotatedTagView {
  readonly open: OpenRepository
  readonly tag: RawTag
  readonly verification: Verification
}

/** The number of refs in one response. A caller that needs more uses a longer prefix or fetches. */
const MAX_REFS = 10_000

/** The bytes read of a tag, enough for its message and a signature. */
const MAX_TAG_BYTES = 256 * 1024

/**
 * The characters that ref names cannot contain (git-check-ref-format(1)), some of which Git would
 * treat as patterns.
 */
const UNFIT_FOR_REFS = /[\p{Cc} ~^:?*[\\]/u

/**
 * Returns the refs whose names start with a prefix.
 *
 * @param prefix without `refs/`.
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
    // Git filters refs by whole path components only.
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
 * Returns a page of a tree.
 *
 * @param text id of a tree or commit, or name of a branch or tag
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

/** Returns a blob by its id. */
export async function getGitBlob(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  sha: string,
): Promise<BlobView> {
  const open = await openRepository(app, caller, name, 'read')
  const blob = await reading(
    readObject(app.git, open.repository.id, checkObjectId(sha), inlineBytesToRead),
  )
  if (blob?.type !== 'blob') throw notFound('OBJECT_NOT_FOUND', 'sha', sha)
  const { bytes, content } = blob
  return { open, id: blob.id, bytes, content: bytes > MAX_INLINE_BYTES ? undefined : content }
}

/** Returns an annotated tag by the id of its tag object. */
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
