import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { transaction } from '../../platform/database/database.ts'
import { BundleError, readBundle } from '../../platform/git/packs/bundles.ts'
import { finishCopy, measureDraft } from '../../platform/git/packs/mirrors.ts'
import {
  createDraft,
  discardDraft,
  scratchPath,
} from '../../platform/git/repositories/repositories.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { actsAsAdministrator, holderOf, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { publishCopy } from '../repositories/lifecycle/copies.ts'
import {
  DEFAULT_BRANCH,
  type NewRepositoryPlace,
  recordCreator,
} from '../repositories/lifecycle/create-repository.ts'
import { openPlaceOf } from '../repositories/lifecycle/migrate.ts'
import { findRepository } from '../repositories/lifecycle/repositories.rows.ts'
import { getRepositoryById, removeRepository } from '../repositories/lifecycle/repositories.ts'
import {
  checkRepositoryName,
  checkText,
  repositoryNameKey,
} from '../repositories/lifecycle/repository-fields.ts'
import type { RepositoryView } from '../repositories/lifecycle/repository-views.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { type Quota, quotaOfOwner } from '../repositories/quotas/quota-checks.ts'
import { BUNDLE } from './archive-format.ts'
import { invalidArchive, type UnpackedArchive, unpackArchive } from './archive-upload.ts'
import { ImportEndedError } from './import-items.ts'
import { importPage } from './import-pages.ts'
import { countsOf, countsWith } from './import-progress.ts'
import { finishImport } from './import-work.ts'
import * as rows from './project-imports.rows.ts'
import { LISTED } from './project-records.ts'
import { ARCHIVE } from './running-archives.ts'
import type { ProjectImport } from './schema.ts'
import { namedAccounts, noAccounts } from './source-accounts.ts'
import { ArchiveSource } from './sources/archive-source.ts'

/** The repository into which an archive is imported. */
export interface ArchiveTarget {
  /** Empty for the caller. */
  readonly ownerName: string
  readonly name: string
}

/**
 * Imports an archive of a project into a new repository. The repository has everything when this returns;
 * without a return, whatever the reason, nothing remains of it.
 *
 * @param content the archive, which is read once the target was checked.
 * @param until aborts the import when the caller no longer waits.
 * @throws INVALID_PROJECT_ARCHIVE, ARCHIVE_OVER_LIMIT, ASSET_TOO_LARGE, REPOSITORY_EXISTS, UNKNOWN_USER,
 *   PERMISSION_DENIED, QUOTA_EXCEEDED, TOO_MANY_COPIES; what the content throws.
 */
export async function importArchive(
  app: ReposApp,
  caller: SignedIn,
  target: ArchiveTarget,
  content: () => Promise<AsyncIterable<Uint8Array>>,
  until: AbortSignal,
): Promise<RepositoryView> {
  const place = await openPlaceOf(app, caller, { ...target, ownerId: 0 })
  checkRepositoryName(target.name)
  if (await findRepository(app.db, place.owner.id, repositoryNameKey(target.name)))
    throw new DomainError('REPOSITORY_EXISTS', { name: target.name })
  const importing = app.copies(holderOf(caller), async () => {
    const folder = scratchPath(app.git)
    await mkdir(folder, { mode: 0o700 })
    try {
      const archive = await unpackArchive(app, folder, await content())
      return await importUnpacked(app, { caller, place, name: target.name, until }, archive)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
  // The server waits for the import before it closes the database, even if the client has gone.
  app.background.run('archive import', () => importing.catch(() => {}))
  return getRepositoryById(app, caller, await importing)
}

/** Who imports, and where. */
interface Place {
  readonly caller: SignedIn
  readonly place: NewRepositoryPlace
  readonly name: string
  readonly until: AbortSignal
}

/** @returns the number of the new repository. */
async function importUnpacked(
  app: ReposApp,
  where: Place,
  archive: UnpackedArchive,
): Promise<number> {
  checkText('description', archive.manifest.description)
  checkText('website', archive.manifest.website)
  const lease = await app.coordination.lease()
  let id: number | undefined
  try {
    id = await storeRepository(app, where, archive)
    await importRecords(app, where, archive, id, () => lease.check())
    return id
  } catch (error) {
    // Somebody has cancelled the import, which keeps what is there, or deleted the repository.
    if (error instanceof ImportEndedError && id !== undefined) return id
    if (id !== undefined) await removeRepository(app, id)
    throw error
  } finally {
    if (id !== undefined) app.runningArchives.delete(id)
  }
}

/** Stores the Git repository, with the row of the import. @returns the number of the repository. */
async function storeRepository(
  app: ReposApp,
  { caller, place, name, until }: Place,
  { folder, manifest }: UnpackedArchive,
): Promise<number> {
  const { owner } = place
  const kind = manifest.isPrivate ? 'private' : 'public'
  const quota = await quotaOfOwner(app, caller, { owner, repository: { name }, kind })
  const draft = await createDraft(app.git, DEFAULT_BRANCH)
  const bytes = await fillDraft(app, draft, { folder, manifest, quota, until })
  return publishCopy(app, draft, {
    creatorId: caller.user.id,
    async describe(tx) {
      await quota?.check(tx, bytes)
      // An upload can take hours, and the owner may have been deleted meanwhile.
      if (!(await findOwnerById(tx, owner.id)))
        throw new DomainError('UNKNOWN_USER', { username: owner.name })
      return {
        owner_id: owner.id,
        name,
        description: manifest.description,
        private: manifest.isPrivate ? 1 : 0,
        default_branch: manifest.defaultBranch ?? DEFAULT_BRANCH,
        mirror: 0,
        original_url: '',
        owned_bytes: bytes,
      }
    },
    async addRows(tx, id) {
      await recordCreator(app, tx, place, caller.user.id, id)
      // Before others can see the row.
      app.runningArchives.add(id)
      await rows.insertProjectImport(tx, {
        repository_id: id,
        user_id: caller.user.id,
        service: ARCHIVE,
        url: '',
        number_offset: 0,
        kinds: LISTED.join(','),
        secrets: null,
        state: 'RUNNING',
        phase: LISTED[0],
        due_time: app.clock.now(),
        create_time: nowSeconds(app.clock),
        end_time: null,
        server_id: app.coordination.serverId,
      })
    },
  })
}

/** Reads the bundle into a draft, and deletes the draft on failure. @returns the bytes of the objects. */
async function fillDraft(
  app: ReposApp,
  draft: string,
  {
    folder,
    manifest,
    quota,
    until,
  }: Pick<UnpackedArchive, 'folder' | 'manifest'> & {
    readonly quota: Quota | undefined
    readonly until: AbortSignal
  },
): Promise<number> {
  try {
    await readBundle(app.git, draft, join(folder, BUNDLE), until)
    await finishCopy(app.git, draft, manifest.defaultBranch)
    const bytes = await measureDraft(draft)
    await quota?.check(app.db, bytes)
    return bytes
  } catch (error) {
    await discardDraft(draft)
    throw error instanceof BundleError ? invalidArchive(error.message) : error
  }
}

/** Imports the records page by page, as from another server. */
async function importRecords(
  app: ReposApp,
  { caller, until }: Place,
  { folder, counts, manifest }: UnpackedArchive,
  repositoryId: number,
  check: () => void,
): Promise<void> {
  const source = new ArchiveSource(folder, counts)
  const isTrusted = actsAsAdministrator(caller, 'write')
  const findAccounts = isTrusted ? namedAccounts(app) : noAccounts
  const presentJob = async (): Promise<ProjectImport> => {
    check()
    until.throwIfAborted()
    const job = await rows.findImportOf(app.db, repositoryId)
    if (!job || job.due_time === null) throw new ImportEndedError()
    return job
  }
  const runOf = (job: ProjectImport) => ({ job, source, findAccounts, importerId: caller.user.id })
  try {
    await setWebsite(app, repositoryId, manifest.website)
    for (const kind of LISTED)
      for (let isMore = true; isMore; ) {
        isMore = (await importPage(app, runOf(await presentJob()), kind)) !== undefined
        app.signals.importSteps.notify()
      }
    const job = await presentJob()
    const progress = JSON.stringify(countsWith(countsOf(job), { objects: 1 }))
    await transaction(app.db, (tx) => rows.updateProjectImport(tx, job.id, { progress }))
    await finishImport(app, runOf(job))
  } finally {
    await source.close()
  }
}

async function setWebsite(app: ReposApp, id: number, website: string): Promise<void> {
  if (website === '') return
  await transaction(app.db, (tx) => rows.setWebsiteOf(tx, id, website))
}
