import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { seesDrafts, visibleRelease } from '../access/release-access.ts'
import type { ReposApp } from '../ports.ts'
import { listReleaseAssets } from './release-assets.rows.ts'
import * as rows from './releases.rows.ts'
import type { Release, ReleaseAsset } from './schema.ts'

/** A release with its repository, publisher and assets. */
export interface ReleaseView {
  readonly open: OpenRepository
  readonly release: Release
  readonly publisher: Owner
  readonly assets: readonly ReleaseAsset[]
}

/** A page of releases. */
export interface ReleasePage {
  readonly releases: readonly ReleaseView[]
  /** Number of releases in the whole list. */
  readonly total: number
}

/**
 * Returns a page of the releases of a repository, latest first.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED
 */
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

/**
 * Returns a release by number.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, RELEASE_NOT_FOUND
 */
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

/**
 * Returns the latest release that is neither a draft nor a prerelease.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, RELEASE_NOT_FOUND
 */
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

/**
 * Returns the release of a tag. The case of the tag name does not matter.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, RELEASE_NOT_FOUND
 */
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
