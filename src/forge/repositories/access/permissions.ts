import type { Db } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import {
  findFormerOwner,
  findOwnerById,
  findOwnerByNameKey,
  findOwnersByIds,
} from '../../accounts/users/owners.rows.ts'
import {
  actsAsAdministrator,
  type Caller,
  holdsScope,
  type SignedIn,
  seesPublicDataOnly,
} from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { LEVELS, type RepositoryAccess, suffices } from '../../core/levels.ts'
import { nameKey, type RepositoryName } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import {
  findRenamedRepository,
  findRepository,
  findRepositoryById,
  findRepositoryOfNames,
} from '../lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../lifecycle/repository-fields.ts'
import type { ReposApp } from '../ports.ts'
import type { Release } from '../releases/schema.ts'
import type { Repository } from '../schema.ts'
import {
  findGrants,
  findGrantsOn,
  findGrantsTo,
  type RepositoryGrant,
} from './repository-grants.rows.ts'
import { type RepositoryReader, TEAM_UNITS } from './repository-readers.rows.ts'

/** A feature of a repository for which teams can have a level of their own. */
export type Unit = keyof typeof TEAM_UNITS
const UNITS: readonly Unit[] = ['code', 'issues', 'pulls', 'releases']

/** A level for each feature. The levels `admin` and `owner` always apply to all features. */
export type UnitAccess = Readonly<Record<Unit, RepositoryAccess>>

/** A repository of which the caller can read at least one feature. */
export interface OpenRepository {
  readonly repository: Repository
  readonly owner: Owner
  /** The level for the requested feature. */
  readonly access: RepositoryAccess
  readonly units: UnitAccess
}

/**
 * Returns whether any feature can be read. For a caller who can read none, the repository does not
 * exist.
 */
function readsAny(units: UnitAccess): boolean {
  return UNITS.some((unit) => units[unit] !== 'none')
}

/**
 * Returns the properties of a caller that decide about read access. Lists use them as a condition
 * of their query.
 */
export function repositoryReader(app: ReposApp, caller: Caller): RepositoryReader {
  if (caller.kind === 'anonymous')
    return { ...ANONYMOUS_READER, needsSignIn: app.settings.privateInstance }
  const levels = ['write', 'read'] as const
  return {
    ...ANONYMOUS_READER,
    userId: caller.user.id,
    restricted: caller.user.restricted === 1,
    publicOnly: seesPublicDataOnly(caller),
    administrator: levels.find((level) => actsAsAdministrator(caller, level)) ?? 'none',
  }
}

const ANONYMOUS_READER: RepositoryReader = {
  userId: undefined,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
}

/**
 * Returns what a reader may do to a repository. All access to repositories, over the API and over
 * Git, is decided here. `readableBy` in storage expresses the same rule as a condition for the rows
 * of a list.
 *
 * The result does not depend on whether the repository is archived, a mirror, or has disabled
 * features.
 *
 * @param grants the reader's grants for the repository, and the teams of its owner that the reader
 *   is a member of.
 */
export function decideAccess(
  reader: RepositoryReader,
  repository: Pick<Repository, 'owner_id' | 'private'>,
  owner: Pick<Owner, 'visibility'>,
  grants: readonly RepositoryGrant[],
): UnitAccess {
  const isPublic = repository.private === 0
  if (reader.needsSignIn) return everywhere('none')
  if (reader.publicOnly && !(isPublic && owner.visibility === 'public')) return everywhere('none')
  if (hasFullAccess(reader, repository)) return everywhere('owner')
  const isMember = grants.some(({ kind }) => kind === 'team')
  const isOpen = isPublic && !reader.restricted && sees(reader, owner, isMember)
  const atLeast = isOpen || reader.administrator === 'read' ? 'read' : 'none'
  const levelOf = (unit: Unit) =>
    highest([atLeast, ...grants.map((grant) => grantedLevel(grant, unit))])
  return {
    code: levelOf('code'),
    issues: levelOf('issues'),
    pulls: levelOf('pulls'),
    releases: levelOf('releases'),
  }
}

/** Returns whether a reader has full access without any grant. */
function hasFullAccess(
  { userId, administrator }: RepositoryReader,
  { owner_id }: Pick<Repository, 'owner_id'>,
): boolean {
  return userId === owner_id || administrator === 'write'
}

/** Returns whether a reader can see an owner with limited visibility. */
function sees(
  { userId }: RepositoryReader,
  { visibility }: Pick<Owner, 'visibility'>,
  isMember: boolean,
): boolean {
  if (visibility === 'public' || isMember) return true
  return visibility === 'limited' && userId !== undefined
}

function grantedLevel(grant: RepositoryGrant, unit: Unit): RepositoryAccess {
  if (grant.kind === 'collaborator') return grant.level
  if (!grant.applies) return 'none'
  if (grant.permission === 'owner' || grant.permission === 'admin') return grant.permission
  const level = LEVELS.find((known) => known === grant.units[TEAM_UNITS[unit]]) ?? 'none'
  // A team with `admin` for one feature does not administer the repository.
  return suffices(level, 'write') ? 'write' : level
}

function highest(levels: readonly RepositoryAccess[]): RepositoryAccess {
  return levels.reduce((best, level) => (suffices(best, level) ? best : level))
}

function everywhere(level: RepositoryAccess): UnitAccess {
  return { code: level, issues: level, pulls: level, releases: level }
}

/** Returns what a user may do to a repository, regardless of the scope of a credential. */
export async function accessOfUser(
  app: ReposApp,
  user: User,
  repository: Repository,
  owner: Owner,
): Promise<UnitAccess> {
  return withoutDisabledUnits(repository, await rightsOf(app, readerOf(user), repository, owner))
}

/** Returns the same for several users by their ids, with one query. */
export async function accessOfUsers(
  db: Db,
  users: readonly User[],
  repository: Repository,
  owner: Owner,
): Promise<ReadonlyMap<number, UnitAccess>> {
  const ids = users.map(({ id }) => id)
  const grants = await findGrantsTo(db, ids, repository.id)
  const accessOf = (user: User) =>
    decideAccess(readerOf(user), repository, owner, grants.get(user.id) ?? [])
  return new Map(users.map((user) => [user.id, withoutDisabledUnits(repository, accessOf(user))]))
}

function readerOf({ id: userId, restricted, role }: User): RepositoryReader {
  const administrator = role === 'ADMIN' ? 'write' : 'none'
  return { ...ANONYMOUS_READER, userId, restricted: restricted === 1, administrator }
}

/** Returns the rights without those for disabled features. */
function withoutDisabledUnits(
  { has_issues, has_pull_requests, has_releases }: Repository,
  rights: UnitAccess,
): UnitAccess {
  return {
    code: rights.code,
    issues: has_issues === 1 ? rights.issues : 'none',
    pulls: has_pull_requests === 1 ? rights.pulls : 'none',
    releases: has_releases === 1 ? rights.releases : 'none',
  }
}

async function rightsOf(
  app: ReposApp,
  reader: RepositoryReader,
  repository: Repository,
  owner: Owner,
): Promise<UnitAccess> {
  // Owners have full access and anonymous callers have no grants, so neither needs a query.
  const needsGrants = reader.userId !== undefined && !hasFullAccess(reader, repository)
  const grants = needsGrants ? await findGrants(app.db, reader.userId, repository.id) : []
  return decideAccess(reader, repository, owner, grants)
}

/**
 * Opens a repository by name, for something that requires a level of access to one of its features.
 *
 * @param name in upper or lower case.
 * @param needed `none` if read access to any feature is enough.
 * @throws REPOSITORY_NOT_FOUND if it does not exist or the caller cannot read it; REPOSITORY_MOVED
 *   and REPOSITORY_OWNER_RENAMED under the same condition; REPOSITORY_ACCESS_DENIED if the level is
 *   too low; REPOSITORY_UNIT_CLOSED if the feature is disabled or the caller can read other
 *   features only. Without access to pull requests, the result is REPOSITORY_NOT_FOUND.
 */
export async function openRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  needed: RepositoryAccess,
  unit: Unit = 'code',
): Promise<OpenRepository> {
  const [ownerKey, key] = [nameKey(name.owner), repositoryNameKey(name.repo)]
  const [owner, named] = await Promise.all([
    findOwnerByNameKey(app.db, ownerKey),
    findRepositoryOfNames(app.db, ownerKey, key),
  ])
  // The name may have passed to another account between the two reads.
  const isOfOwner = named === undefined || named.owner_id === owner?.id
  const repository = isOfOwner ? named : owner && (await findRepository(app.db, owner.id, key))
  if (!owner || !repository) throw await movedOrMissing(app, caller, owner, ownerKey, key)
  return open(app, caller, repository, owner, { needed, unit })
}

/**
 * Opens a repository by id, for something that requires a level of access to one of its features.
 *
 * @throws as `openRepository`, without REPOSITORY_MOVED and REPOSITORY_OWNER_RENAMED
 */
export async function openRepositoryById(
  app: ReposApp,
  caller: Caller,
  id: number,
  needed: RepositoryAccess,
  unit: Unit = 'code',
): Promise<OpenRepository> {
  const repository = await findRepositoryById(app.db, id)
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!owner) throw missing()
  return open(app, caller, repository, owner, { needed, unit })
}

/**
 * Returns the repositories of a list of which the caller can read at least one feature, in the same
 * order.
 *
 * Used for lists whose query applied `readableBy`, and for embedded repositories.
 */
export async function openRepositories(
  app: ReposApp,
  caller: Caller,
  repositories: readonly Repository[],
  unit: Unit = 'code',
): Promise<OpenRepository[]> {
  const reader = repositoryReader(app, caller)
  const owners = await findOwnersByIds(app.db, [
    ...new Set(repositories.map(({ owner_id }) => owner_id)),
  ])
  const others = repositories
    .filter((repository) => !hasFullAccess(reader, repository))
    .map(({ id }) => id)
  const grants =
    reader.userId === undefined ? undefined : await findGrantsOn(app.db, reader.userId, others)
  return repositories.flatMap((repository) => {
    const owner = owners.get(repository.owner_id)
    if (!owner) return []
    const rights = decideAccess(reader, repository, owner, grants?.get(repository.id) ?? [])
    const units = withoutDisabledUnits(repository, rights)
    return readsAny(rights) ? [{ repository, owner, access: units[unit], units }] : []
  })
}

/** The access that a call needs. */
interface Need {
  readonly needed: RepositoryAccess
  readonly unit: Unit
}

async function open(
  app: ReposApp,
  caller: Caller,
  repository: Repository,
  owner: Owner,
  { needed, unit }: Need,
): Promise<OpenRepository> {
  const rights = await rightsOf(app, repositoryReader(app, caller), repository, owner)
  const units = withoutDisabledUnits(repository, rights)
  const access = units[unit]
  if (!readsAny(rights) || (unit === 'pulls' && access === 'none')) throw missing()
  if (suffices(access, needed)) return { repository, owner, access, units }
  throw needed === 'read'
    ? new DomainError('REPOSITORY_UNIT_CLOSED', { unit })
    : new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
}

/** @param owner the current owner of the name, if there is one. */
async function movedOrMissing(
  app: ReposApp,
  caller: Caller,
  owner: Owner | undefined,
  ownerKey: string,
  key: string,
): Promise<DomainError> {
  const searched = owner ?? (await findFormerOwner(app.db, ownerKey))
  if (!searched) return missing()
  const named = owner ? undefined : await findRepository(app.db, searched.id, key)
  const repository = named ?? (await findRenamedRepository(app.db, searched.id, key))
  const present = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!present) return missing()
  const rights = await rightsOf(app, repositoryReader(app, caller), repository, present)
  if (!readsAny(rights)) return missing()
  const names = { owner: present.name, name: repository.name, former: `${ownerKey}/${key}` }
  return new DomainError(owner ? 'REPOSITORY_MOVED' : 'REPOSITORY_OWNER_RENAMED', names)
}

function missing(): DomainError {
  return new DomainError('REPOSITORY_NOT_FOUND')
}

/** Refuses a repository that is archived, or into which a project is imported. */
export function checkNotArchived(repository: Repository): void {
  if (repository.archive_time !== null) throw new DomainError('REPOSITORY_ARCHIVED')
  checkNotImporting(repository)
}

/** Refuses a repository into which a project is imported. */
export function checkNotImporting({ importing }: Repository): void {
  if (importing === 1) throw new DomainError('REPOSITORY_IMPORTING')
}

/** Checks that branches, tags and files of a repository can be changed. */
export function checkWritable(repository: Repository): void {
  checkNotArchived(repository)
  if (repository.mirror === 1) throw new DomainError('REPOSITORY_IS_MIRROR')
}

/** Returns whether a caller can see the draft releases of a repository. */
export function seesDrafts(caller: Caller, { units }: Pick<OpenRepository, 'units'>): boolean {
  return (
    caller.kind === 'user' &&
    holdsScope(caller, 'write:repository') &&
    suffices(units.releases, 'write')
  )
}

/**
 * Opens a repository for a change of its releases.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED
 */
export async function openForWriting(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'write', 'releases')
  checkNotArchived(open.repository)
  return open
}

/**
 * Returns a release that the caller can see.
 *
 * @throws RELEASE_NOT_FOUND
 */
export function visibleRelease(
  caller: Caller,
  open: Pick<OpenRepository, 'units'>,
  release: Release | undefined,
): Release {
  const isHidden =
    release === undefined ||
    release.tag_only === 1 ||
    (release.draft === 1 && !seesDrafts(caller, open))
  if (isHidden) throw new DomainError('RELEASE_NOT_FOUND')
  return release
}

/**
 * Opens a repository for a push. The caller may write to it, or push to some of its branches for
 * another reason. The ref-update pipeline checks which branches when refs are about to move.
 *
 * @param branch the only branch to consider; all of them when left out.
 * @throws as `openRepository` for writing
 */
export async function openForPush(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  branch?: string,
): Promise<OpenRepository> {
  try {
    return await openRepository(app, caller, name, 'write')
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason !== 'REPOSITORY_ACCESS_DENIED') throw error
    const open = await openRepository(app, caller, name, 'none')
    if (!suffices(open.units.code, 'read')) throw error
    const branches = branch === undefined ? undefined : [branch]
    if ((await pushableBranches(app, caller, open, branches)).size === 0) throw error
    return open
  }
}

/** Returns the branches that a caller may push to without write access to the repository. */
export async function pushableBranches(
  app: ReposApp,
  caller: SignedIn,
  open: Pick<OpenRepository, 'repository' | 'owner'>,
  branches?: readonly string[],
): Promise<ReadonlySet<string>> {
  const sets = await Promise.all(
    app.refObservers.map((observer) => observer.pushableBranches(app, caller, open, branches)),
  )
  return new Set(sets.flatMap((set) => [...set]))
}
