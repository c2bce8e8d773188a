import { storeTag } from '../../../platform/git/objects/object-writes.ts'
import { isRefName } from '../../../platform/git/refs/refs.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepository,
  type Unit,
} from '../access/permissions.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { findCommitId } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { findEntryByTag } from '../releases/releases.rows.ts'
import type { Repository, Tag } from '../schema.ts'
import { type RefPage, readTag, readTagIndex } from './ref-index.ts'
import { LOOKS_LIKE_AN_ID } from './ref-review.ts'
import { pushUpdates } from './ref-updates.ts'

/** Limit of the message of a tag, which lists of tags contain. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** A tag and its repository. */
export interface TagView {
  readonly open: OpenRepository
  readonly tag: Tag
}

interface TagDraft {
  readonly name: string
  /** Empty for a lightweight tag. */
  readonly message: string
  /** A branch, a tag or the id of a commit. Empty for the default branch. */
  readonly target: string
}

/** Returns a page of the tags of a repository, latest first, then by name. */
export async function listTags(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  page: Page,
): Promise<RefPage<Tag> & { readonly open: OpenRepository }> {
  const open = await openRepository(app, caller, name, 'read')
  return { ...(await readTagIndex(app, open.repository, page)), open }
}

/** Returns a tag. */
export async function getTag(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  tagName: string,
): Promise<TagView> {
  const open = await openRepository(app, caller, name, 'read')
  return { open, tag: await findTag(app, open, tagName) }
}

/** Creates a tag. With a message, the tag is annotated. */
export async function createTag(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: TagDraft,
): Promise<TagView> {
  const open = await openRepository(app, caller, name, 'write')
  const { repository } = open
  checkWritable(repository)
  if (!isRefName(draft.name)) throw new DomainError('INVALID_FIELD', { field: 'tag_name' })
  const message = tagMessage('message', draft.message)
  const commitId = await resolveTarget(app, repository, draft.target)
  const existing = await readTag(app, repository, draft.name)
  if (existing) throw new DomainError('TAG_EXISTS', { tag: draft.name })
  await makeTag(app, caller, repository.id, { name: draft.name, message, commitId })
  return { open, tag: await findTag(app, open, draft.name) }
}

/** Returns whether a name is valid for a new tag. Collisions are not checked. */
export function isTagName(name: string): boolean {
  return isRefName(name) && !LOOKS_LIKE_AN_ID.test(name)
}

/**
 * Returns the message of a tag as it is stored.
 *
 * @param field the name of the field in errors.
 */
export function tagMessage(field: string, text: string): string {
  const message = text.replaceAll('\r\n', '\n').replaceAll('\0', '').trim()
  if (Buffer.byteLength(message) <= MAX_MESSAGE_BYTES) return message
  throw new DomainError('INVALID_FIELD', { field, max_bytes: String(MAX_MESSAGE_BYTES) })
}

/** Returns the commit for a new tag. */
export async function resolveTarget(
  app: ReposApp,
  repository: Repository,
  target: string,
): Promise<string> {
  const commitId = await findCommitId(app, repository, target)
  if (commitId === undefined) throw new DomainError('TAG_TARGET_NOT_FOUND')
  return commitId
}

/** A new tag. */
export interface NewTag {
  readonly name: string
  /** Empty for a lightweight tag. */
  readonly message: string
  readonly commitId: string
}

/**
 * Creates a tag through the ref-update pipeline.
 *
 * @param unit the unit that the caller must be able to write to.
 */
export async function makeTag(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { name, message, commitId }: NewTag,
  unit: Unit = 'code',
): Promise<void> {
  const tagger = gitIdentity(app, caller)
  const to =
    message === ''
      ? commitId
      : await storeTag(app.git, repositoryId, { name, commitId, tagger, message: `${message}\n` })
  await pushUpdates(
    app,
    caller,
    repositoryId,
    [{ name: `refs/tags/${name}`, from: undefined, to }],
    { unit },
  )
}

/** Deletes a tag. */
export async function deleteTag(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  tagName: string,
): Promise<void> {
  const open = await openRepository(app, caller, name, 'write')
  const { repository } = open
  checkWritable(repository)
  const { object_id } = await findTag(app, open, tagName)
  const entry = await findEntryByTag(app.db, repository.id, tagName)
  if (entry?.tag_only === 0 && entry.tag_name === tagName)
    throw new DomainError('TAG_HAS_RELEASE', { tag: tagName })
  await pushUpdates(app, caller, repository.id, [
    { name: `refs/tags/${tagName}`, from: object_id, to: undefined },
  ])
}

async function findTag(app: ReposApp, { repository }: OpenRepository, name: string): Promise<Tag> {
  const tag = isRefName(name) ? await readTag(app, repository, name) : undefined
  if (!tag) throw new DomainError('TAG_NOT_FOUND')
  return tag
}
