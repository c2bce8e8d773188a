import type { Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import {
  type OpenRepository,
  openForWriting,
  openRepository,
  seesDrafts,
  visibleRelease,
} from '../access/permissions.ts'
import { changeWatched, recordReleaseChange } from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import { isTagProtected } from '../protection/tag-protections.ts'
import { readBranchIndex, readTagInAnyCase } from '../refs/ref-index.ts'
import { tagTime } from '../refs/ref-recording.ts'
import { findTag } from '../refs/tags.rows.ts'
import { isTagName, makeTag, resolveTarget, tagMessage } from '../refs/tags.ts'
import { listReleaseAssets } from './release-assets.rows.ts'
import { removeReleaseRow } from './release-assets.ts'
import * as rows from './releases.rows.ts'
import type { NewRelease, Release, ReleaseAsset } from './schema.ts'

/**
 * Releases. Git has the tags: a published release has a tag, a draft may not have one yet.
 *
 * The row of a deleted release stays as an entry of its tag (`tag_only`), invisible to clients, so
 * that a new release of the tag gets the same number. Tags that never had a release have no entry.
 * `ref-recording.ts` updates entries and releases when Git creates, moves or deletes tags.
 */

/** Lists cut longer titles anyway. */
const MAX_TITLE_CHARACTERS = 255

/**
 * As in similar systems. A list of 30 releases contains all notes, and gRPC clients accept 4 MiB by
 * default.
 */
const MAX_NOTE_BYTES = 128 * 1024

/** More than any branch or tag has. */
const MAX_TARGET_CHARACTERS = 1024

/** Characters of an invalid tag name in the error. */
const MAX_SHOWN_TAG_CHARACTERS = 200

export interface ReleaseDraft {
  readonly tagName: string
  /** A branch or a commit. Empty for the default branch. */
  readonly target: string
  readonly title: string
  readonly note: string
  readonly isDraft: boolean
  readonly isPrerelease: boolean
  /** Empty for a lightweight tag. */
  readonly tagMessage: string
}

/** Changes of a release. Empty texts and undefined flags do not change. */
export interface ReleaseEdit {
  readonly tagName: string
  readonly target: string
  readonly title: string
  readonly note: string
  readonly isDraft: boolean | undefined
  readonly isPrerelease: boolean | undefined
}

/** Creates a release of an existing tag, or of a new tag. A draft does not create a tag. */
export async function createRelease(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: ReleaseDraft,
): Promise<ReleaseView> {
  const open = await openForWriting(app, caller, name)
  const { repository } = open
  await checkNotEmpty(app, open)
  if (draft.tagName === '') throw new DomainError('RELEASE_TAG_REQUIRED')
  const tag = await readTagInAnyCase(app, repository, draft.tagName)
  const tagName = tag?.name ?? draft.tagName
  const entry = await rows.findEntryByTag(app.db, repository.id, tagName)
  if (entry?.tag_only === 0) throw new DomainError('RELEASE_EXISTS', { tag: entry.tag_name })
  await checkTag(app, caller, open, tagName)
  const target = draft.target || repository.default_branch
  const texts = checkTexts(target, draft.title, draft.note)
  const message = tagMessage('tag_message', draft.tagMessage)
  if (!tag) {
    // The target is checked for drafts, too, although a draft gets its tag when it is published.
    const commitId = await resolveTarget(app, repository, target)
    if (!draft.isDraft)
      await makeTag(app, caller, repository.id, { name: tagName, message, commitId }, 'releases')
  }
  const release = {
    repository_id: repository.id,
    tag_name: tagName,
    tag_only: 0,
    draft: Number(draft.isDraft),
    prerelease: Number(draft.isPrerelease),
    publisher_id: caller.user.id,
    create_time:
      tag && !draft.isDraft ? tagTime(tag, nowSeconds(app.clock)) : nowSeconds(app.clock),
    ...texts,
  }
  const stored = await changeWatched(app, async (tx) => {
    const left = await claimTag(tx, release, undefined)
    const made = await (left
      ? rows.updateRelease(tx, left.id, release)
      : rows.insertRelease(tx, release))
    await recordReleaseChange(app, tx, caller, undefined, made)
    return made
  })
  return viewRelease(app, open, stored)
}

/**
 * Changes a release. Publishing creates the tag if it does not exist, and sets the time of the
 * release to that of the tag.
 */
export async function editRelease(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
  edit: ReleaseEdit,
): Promise<ReleaseView> {
  const open = await openForWriting(app, caller, name)
  for (;;) {
    const before = visibleRelease(
      caller,
      open,
      await rows.findRelease(app.db, open.repository.id, id),
    )
    const stored = await attemptEdit(app, caller, open, before, edit)
    if (stored) return viewRelease(app, open, stored)
  }
}

/**
 * @returns undefined if the release was published, withdrawn or given another tag meanwhile. The
 *   caller must then try again.
 */
async function attemptEdit(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  before: Release,
  edit: ReleaseEdit,
): Promise<Release | undefined> {
  const { repository } = open
  const { id } = before
  const wanted = edit.tagName || before.tag_name
  const tag = await readTagInAnyCase(app, repository, wanted)
  const tagName = tag?.name ?? wanted
  const isDraft = edit.isDraft ?? before.draft === 1
  const isPublished = !isDraft && before.draft === 1
  const texts = checkTexts(edit.target, edit.title, edit.note)
  if (isPublished || tagName !== before.tag_name) {
    const holder = await rows.findEntryByTag(app.db, repository.id, tagName)
    if (holder?.tag_only === 0 && holder.id !== id)
      throw new DomainError('RELEASE_TAG_TAKEN', { tag: tagName })
    await checkTag(app, caller, open, tagName)
  }
  const isMade = !isDraft && !tag
  if (isMade) {
    const commitId = await resolveTarget(app, repository, texts.target || before.target)
    await makeTag(app, caller, repository.id, { name: tagName, message: '', commitId }, 'releases')
  }
  return changeWatched(app, async (tx) => {
    const present = await rows.findRelease(tx, repository.id, id)
    if (present?.draft !== before.draft || present.tag_name !== before.tag_name) return undefined
    const changes = {
      repository_id: repository.id,
      tag_name: tagName,
      draft: Number(isDraft),
      prerelease: Number(edit.isPrerelease ?? present.prerelease === 1),
      create_time: isDraft || isMade ? nowSeconds(app.clock) : present.create_time,
      target: texts.target || present.target,
      title: texts.title || present.title,
      note: texts.note || present.note,
    }
    const left = await claimTag(tx, changes, id)
    if (left) await rows.deleteRelease(tx, left.id)
    const edited = await rows.updateRelease(tx, id, changes)
    await recordReleaseChange(app, tx, caller, present, edited)
    return edited
  })
}

/** Deletes a release with its assets. Its tag stays. */
export async function deleteRelease(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
): Promise<void> {
  const open = await openForWriting(app, caller, name)
  await remove(app, caller, open, await rows.findRelease(app.db, open.repository.id, id))
}

/**
 * Deletes the release of a tag, as `deleteRelease` does. The case of the tag name does not matter.
 */
export async function deleteReleaseByTag(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  tagName: string,
): Promise<void> {
  const open = await openForWriting(app, caller, name)
  await remove(app, caller, open, await rows.findEntryByTag(app.db, open.repository.id, tagName))
}

async function remove(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  found: Release | undefined,
): Promise<void> {
  const { repository } = open
  const release = visibleRelease(caller, open, found)
  if (await isTagProtected(app, repository.id, caller, release.tag_name)) {
    throw new DomainError('TAG_PROTECTED', { tag: release.tag_name, action: 'delete' })
  }
  // Updates the row of the tag, which `removeReleaseRow` reads.
  await readTagInAnyCase(app, repository, release.tag_name)
  await removeReleaseRow(app, caller, release)
}

async function checkNotEmpty(app: ReposApp, { repository }: OpenRepository): Promise<void> {
  if (repository.branch_count > 0) return
  if ((await readBranchIndex(app, repository, '', { offset: 0, limit: 1 })).total === 0)
    throw new DomainError('RELEASE_REPOSITORY_EMPTY')
}

async function checkTag(
  app: ReposApp,
  caller: SignedIn,
  { repository }: OpenRepository,
  tagName: string,
): Promise<void> {
  if (!isTagName(tagName)) {
    throw new DomainError('RELEASE_TAG_INVALID', {
      tag: tagName.slice(0, MAX_SHOWN_TAG_CHARACTERS),
    })
  }
  if (await isTagProtected(app, repository.id, caller, tagName)) {
    throw new DomainError('RELEASE_TAG_PROTECTED', { tag: tagName })
  }
}

function checkTexts(
  target: string,
  title: string,
  note: string,
): Pick<Release, 'target' | 'title' | 'note'> {
  if (target.length > MAX_TARGET_CHARACTERS) {
    throw new DomainError('INVALID_FIELD', {
      field: 'target_commitish',
      max_length: String(MAX_TARGET_CHARACTERS),
    })
  }
  if (Buffer.byteLength(note) > MAX_NOTE_BYTES) {
    throw new DomainError('INVALID_FIELD', { field: 'body', max_bytes: String(MAX_NOTE_BYTES) })
  }
  const characters = [...title]
  const isTooLong = characters.length > MAX_TITLE_CHARACTERS
  return {
    target,
    title: isTooLong ? `${characters.slice(0, MAX_TITLE_CHARACTERS - 1).join('')}…` : title,
    note,
  }
}

/**
 * Checks, by the rows of a transaction, that a release may have its tag.
 *
 * @param id the release. Undefined for a new one.
 * @returns the entry of the tag that a deleted release has left.
 */
async function claimTag(
  tx: Tx,
  { repository_id, tag_name, draft }: Pick<NewRelease, 'repository_id' | 'tag_name' | 'draft'>,
  id: number | undefined,
): Promise<Release | undefined> {
  const holder = await rows.findEntryByTag(tx, repository_id, tag_name)
  if (holder?.tag_only === 0 && holder.id !== id)
    throw new DomainError('RELEASE_TAG_TAKEN', { tag: tag_name })
  if (draft === 0 && !(await findTag(tx, repository_id, tag_name))) {
    throw new DomainError('REF_CHANGED', { ref: `refs/tags/${tag_name}` })
  }
  return holder?.tag_only === 1 ? holder : undefined
}

/** A release with its repository, publisher and assets. */
export interface ReleaseView {
  readonly open: OpenRepository
  readonly release: Release
  readonly publisher: Owner
  readonly assets: readonly ReleaseAsset[]
}

/** A page of releases. */
interface ReleasePage {
  readonly releases: readonly ReleaseView[]
  /** Number of releases in the whole list. */
  readonly total: number
}

/** Returns a page of the releases of a repository, latest first. */
export async function listReleases(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  filter: rows.ReleaseFilter,
  page: Page,
): Promise<ReleasePage> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const showsDrafts = seesDrafts(caller, open)
  if (filter.draft && !showsDrafts) return { releases: [], total: 0 }
  const visible = { ...filter, draft: showsDrafts ? filter.draft : false }
  const { id } = open.repository
  const releases = await rows.listReleases(app.db, id, visible, page.offset, page.limit)
  return {
    releases: await viewReleases(app, open, releases),
    total: await countOf(app, open, visible),
  }
}

/** Triggers count the published releases, whose number is that of the usual list. */
async function countOf(
  app: ReposApp,
  { repository }: OpenRepository,
  filter: rows.ReleaseFilter,
): Promise<number> {
  if (filter.draft === false && filter.prerelease === undefined) return repository.releases_count
  return rows.countReleases(app.db, repository.id, filter)
}

/** Returns a release by number. */
export async function getRelease(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
): Promise<ReleaseView> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  return viewRelease(
    app,
    open,
    visibleRelease(caller, open, await rows.findRelease(app.db, open.repository.id, id)),
  )
}

/** Returns the latest release that is neither a draft nor a prerelease. */
export async function getLatestRelease(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<ReleaseView> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const finished = { draft: false, prerelease: false }
  const [release] = await rows.listReleases(app.db, open.repository.id, finished, 0, 1)
  return viewRelease(app, open, visibleRelease(caller, open, release))
}

/** Returns the release of a tag. The case of the tag name does not matter. */
export async function getReleaseByTag(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  tagName: string,
): Promise<ReleaseView> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const entry = await rows.findEntryByTag(app.db, open.repository.id, tagName)
  return viewRelease(app, open, visibleRelease(caller, open, entry))
}

/** Returns a release with its publisher and assets. */
export async function viewRelease(
  app: ReposApp,
  open: OpenRepository,
  release: Release,
): Promise<ReleaseView> {
  const [view] = await viewReleases(app, open, [release])
  if (!view) throw new Error('a release has no view')
  return view
}

async function viewReleases(
  app: ReposApp,
  open: OpenRepository,
  releases: readonly Release[],
): Promise<ReleaseView[]> {
  const publishers = await findOwnersByIds(app.db, [
    ...new Set(releases.map(({ publisher_id }) => publisher_id)),
  ])
  const assets = await listReleaseAssets(
    app.db,
    releases.map(({ id }) => id),
  )
  return releases.map((release) => ({
    open,
    release,
    publisher: publishers.get(release.publisher_id) ?? GHOST,
    assets: assets.filter(({ release_id }) => release_id === release.id),
  }))
}
