import { finishCopy, measureDraft } from '../../../platform/git/packs/mirrors.ts'
import {
  createDraft,
  discardDraft,
  repositoryPath,
} from '../../../platform/git/repositories/repositories.ts'
import { findOwnerById, findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import { maySeeOwner } from '../../accounts/users/owners.ts'
import { actsAsAdministrator, holderOf, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import { fetchLfsObjects } from '../lfs/lfs-sources.ts'
import type { ReposApp } from '../ports.ts'
import { type Quota, quotaOfOwner, transferBytes } from '../quotas/quota-checks.ts'
import { checkRepositoryLimit } from '../quotas/repository-limit.ts'
import type { Mirror } from '../schema.ts'
import { publishCopy } from './copies.ts'
import {
  DEFAULT_BRANCH,
  type NewRepositoryPlace,
  openForNewRepository,
  recordCreator,
} from './create-repository.ts'
import { insertMirror } from './mirrors.rows.ts'
import { DEFAULT_INTERVAL_SECONDS, nextSyncTime, parseMirrorInterval } from './mirrors.ts'
import { findRepository, findRepositoryById } from './repositories.rows.ts'
import { getRepositoryById } from './repositories.ts'
import { checkRepositoryName, checkText, repositoryNameKey } from './repository-fields.ts'
import type { RepositoryView } from './repository-views.ts'
import {
  FetchError,
  type LfsRemote,
  lfsRemoteOf,
  reachUpstream,
  readUpstream,
  sealCredentials,
  sealEndpoint,
  TooLargeError,
  type Upstream,
  type UpstreamDraft,
} from './upstreams.ts'

/** The request for a copy of a repository on another server. */
export interface MigrationDraft {
  readonly upstream: UpstreamDraft
  /** Empty for the account with the number `ownerId`. */
  readonly ownerName: string
  /** 0 for the caller. */
  readonly ownerId: number
  readonly name: string
  readonly description: string
  readonly private: boolean
  /** Whether the copy is a mirror, which follows the original. */
  readonly mirror: boolean
  /** Empty for the default interval. */
  readonly mirrorInterval: string
  /** Whether the objects of Git LFS come along. */
  readonly lfs: boolean
  /** Address of the Git LFS of the other server. Empty for that of the repository. */
  readonly lfsEndpoint: string
  /** What to import beside the Git repository; undefined for nothing, and for mirrors. */
  readonly project: { readonly service: string; readonly kinds: readonly string[] } | undefined
}

/**
 * Copies a repository from another server, once or as a mirror. A failed copy leaves nothing
 * behind.
 *
 * @param until aborts the copy when the caller no longer waits.
 */
export async function migrateRepository(
  app: ReposApp,
  caller: SignedIn,
  draft: MigrationDraft,
  until: AbortSignal,
): Promise<RepositoryView> {
  const place = await openPlaceOf(app, caller, draft)
  const upstream = readUpstream(draft.upstream)
  const lfs = draft.lfs ? lfsRemoteOf(upstream, draft.lfsEndpoint) : undefined
  checkRepositoryName(draft.name)
  checkText('description', draft.description)
  const intervalSeconds = draft.mirrorInterval
    ? parseMirrorInterval(draft.mirrorInterval)
    : DEFAULT_INTERVAL_SECONDS
  if (await findRepository(app.db, place.owner.id, repositoryNameKey(draft.name))) {
    throw new DomainError('REPOSITORY_EXISTS', { name: draft.name })
  }
  const migration = { upstream, intervalSeconds, until }
  const copying = app.copies(holderOf(caller), async () => {
    if (draft.project)
      return beginImport(app, caller, place, { ...draft, project: draft.project }, migration)
    const id = await copy(app, caller, place, draft, migration)
    if (lfs && app.settings.lfs) await fetchObjectsOf(app, caller, id, lfs, until)
    return id
  })
  // The server waits for the copy before it closes the database, even if the client has gone.
  app.background.run('migration', () => copying.catch(() => {}))
  const id = await copying.catch((error: unknown) => {
    throw error instanceof FetchError
      ? new DomainError('CLONE_FAILED', { cause: error.message })
      : error
  })
  app.signals.mirrors.notify()
  return getRepositoryById(app, caller, id)
}

/**
 * Fetches the objects of Git LFS of a new repository. The repository exists by now, so a failure leaves
 * pointers.
 */
async function fetchObjectsOf(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  remote: LfsRemote,
  signal: AbortSignal,
): Promise<void> {
  const repository = await findRepositoryById(app.db, id)
  if (!repository) return
  const folder = repositoryPath(app.git, id)
  const target = { repository, caller, folder, range: ['--all'], signal }
  await fetchLfsObjects(app, remote, target).catch((err: unknown) =>
    app.log.warn({ err, repository: id }, 'the LFS objects of an import were not fetched'),
  )
}

/**
 * Returns where the caller may create a repository. Administrators may do so for other users, and
 * members of an organisation by its rules.
 */
export async function openPlaceOf(
  app: ReposApp,
  caller: SignedIn,
  draft: Pick<MigrationDraft, 'ownerName' | 'ownerId'>,
): Promise<NewRepositoryPlace> {
  const { ownerName, ownerId } = draft
  if (ownerName === '' && ownerId === 0) return openForNewRepository(app, caller, '')
  const owner = ownerName
    ? await findOwnerByNameKey(app.db, nameKey(ownerName))
    : await findOwnerById(app.db, ownerId)
  if (!owner || !(await maySeeOwner(app, caller, owner))) throw unknownOwner(draft)
  if (owner.kind === 'ORGANIZATION') return openForNewRepository(app, caller, owner.name)
  const isAllowed = owner.id === caller.user.id || actsAsAdministrator(caller, 'write')
  if (!isAllowed) throw new DomainError('PERMISSION_DENIED')
  return { owner, makesAdministrator: false }
}

function unknownOwner({
  ownerName,
  ownerId,
}: Pick<MigrationDraft, 'ownerName' | 'ownerId'>): DomainError {
  return new DomainError('UNKNOWN_USER', { username: (ownerName || String(ownerId)).slice(0, 64) })
}

/** The checked values of a request. */
interface Migration {
  readonly upstream: Upstream
  readonly intervalSeconds: number
  /** Aborts the copy when the caller no longer waits. */
  readonly until: AbortSignal
}

/**
 * Creates an empty repository, into which a worker imports a project.
 *
 * @returns the number of the new repository.
 */
async function beginImport(
  app: ReposApp,
  caller: SignedIn,
  place: NewRepositoryPlace,
  draft: MigrationDraft & { readonly project: NonNullable<MigrationDraft['project']> },
  { upstream, until }: Migration,
): Promise<number> {
  const { name, description, project } = draft
  const lfs = draft.lfs ? draft.lfsEndpoint : undefined
  const request = { ...project, ...upstream, token: draft.upstream.token, lfs }
  const prepared = await app.projectImports.prepare(app, caller, request, until)
  const id = await publishCopy(app, await createDraft(app.git, DEFAULT_BRANCH), {
    creatorId: caller.user.id,
    async describe(tx) {
      if (!(await findOwnerById(tx, place.owner.id))) throw unknownOwner(draft)
      return {
        owner_id: place.owner.id,
        name,
        description,
        private: draft.private ? 1 : 0,
        default_branch: DEFAULT_BRANCH,
        mirror: 0,
        original_url: upstream.url.href,
        owned_bytes: 0,
      }
    },
    async addRows(tx, repositoryId) {
      await recordCreator(app, tx, place, caller.user.id, repositoryId)
      await prepared.store(tx, repositoryId)
    },
  })
  await prepared.start(id, until)
  return id
}

/** @returns the number of the new repository. */
async function copy(
  app: ReposApp,
  caller: SignedIn,
  place: NewRepositoryPlace,
  draft: MigrationDraft,
  { upstream, intervalSeconds, until }: Migration,
): Promise<number> {
  const { name, description, mirror } = draft
  const kind = draft.private ? 'private' : 'public'
  const newcomer = { owner: place.owner, repository: { name }, kind } as const
  const quota = await quotaOfOwner(app, caller, newcomer)
  // Nothing fits where not even a byte does.
  await quota?.check(app.db, 1)
  await checkRepositoryLimit(app, app.db, place.owner.id)
  const folder = await createDraft(app.git, DEFAULT_BRANCH)
  const defaultBranch = await fetchAll(app, folder, upstream, until, quota)
  const bytes = quota ? await measureDraft(folder) : 0
  return publishCopy(app, folder, {
    creatorId: caller.user.id,
    async describe(tx) {
      await quota?.check(tx, bytes)
      // A copy can take an hour, and the owner may have been deleted meanwhile.
      if (!(await findOwnerById(tx, place.owner.id))) throw unknownOwner(draft)
      return {
        owner_id: place.owner.id,
        name,
        description,
        private: draft.private ? 1 : 0,
        default_branch: defaultBranch,
        mirror: mirror ? 1 : 0,
        original_url: upstream.url.href,
        owned_bytes: bytes,
      }
    },
    async addRows(tx, id) {
      await recordCreator(app, tx, place, caller.user.id, id)
      if (mirror) await insertMirror(tx, newMirror(app, id, draft, { upstream, intervalSeconds }))
    },
  })
}

/**
 * Fetches everything into a draft, and deletes the draft on failure.
 *
 * @returns the default branch.
 */
async function fetchAll(
  app: ReposApp,
  draft: string,
  upstream: Upstream,
  until: AbortSignal,
  quota: Quota | undefined,
): Promise<string> {
  try {
    const maxBytes = quota && (await transferBytes(quota))
    const named = await reachUpstream(app, { ...upstream, maxBytes }, until, async (reached) => {
      await reached.fetchInto(draft, false)
      return reached.readDefaultBranch(draft)
    })
    await finishCopy(app.git, draft, named)
    return named ?? DEFAULT_BRANCH
  } catch (error) {
    await discardDraft(draft)
    if (error instanceof TooLargeError) await quota?.check(app.db, (await quota.left()) + 1)
    throw error
  }
}

function newMirror(
  app: ReposApp,
  repositoryId: number,
  { lfs, lfsEndpoint }: MigrationDraft,
  { upstream, intervalSeconds }: Pick<Migration, 'upstream' | 'intervalSeconds'>,
): Mirror {
  const now = nowSeconds(app.clock)
  return {
    repository_id: repositoryId,
    url: upstream.url.href,
    credentials: sealCredentials(app, upstream),
    interval_seconds: intervalSeconds,
    prune: 1,
    lfs: lfs ? 1 : 0,
    lfs_endpoint: lfs ? sealEndpoint(app, lfsEndpoint) : null,
    next_sync_time: nextSyncTime(app, intervalSeconds),
    last_sync_time: now,
    change_time: now,
    error: '',
  }
}
