import type { Db } from '../../../platform/database/schema.ts'
import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import {
  measureNewObjects,
  measureObjects,
} from '../../../platform/git/repositories/repository-size.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { findOrganizationRights } from '../../organizations/teams.rows.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp, Reservation } from '../ports.ts'
import { reconcileRefs } from '../refs/ref-index.ts'
import { measureNow, storeSize } from '../refs/repository-size.ts'
import {
  groupsOf,
  type Limits,
  limitsAnything,
  type TightestLimit,
  tightestLimit,
} from './quota-limits.ts'
import { warnOwner } from './quota-warnings.ts'
import {
  type CountedUsage,
  listUnmeasured,
  readUsage,
  rulesOfOwner,
  rulesOfRepository,
} from './quotas.rows.ts'
import type { Kind, Usage } from './schema.ts'
import { KINDS, SUBJECT_OF } from './subjects.ts'

/** The checks of quotas at the places where bytes are stored. */

/** Repositories that are measured before one check. More of them are rare, and wait for others. */
const MAX_MEASURED = 100

/** Git reads this much more than quotas leave before Git ends a push, since the check decides. */
const SPARE = 1.1
const SPARE_BYTES = 1024 * 1024

/** Bytes to store, by kind. */
type AddedBytes = Partial<Usage>

/** The quota of one place at which bytes are stored. */
export interface Quota {
  /** Returns the bytes of the kind of the place that may be added. Infinite without a limit. */
  left(): Promise<number>
  /**
   * Checks whether bytes may be added: before the work, so that no work is in vain, and in the
   * transaction that stores or reserves the bytes, so that two callers never take the same ones.
   *
   * @throws QUOTA_EXCEEDED
   */
  check(db: Db, bytes: number | AddedBytes): Promise<void>
  /** Sends the owner a mail if the stored bytes come near a limit. */
  warn(): Promise<void>
}

/** Where bytes are stored. */
interface Place {
  /** Pays for the bytes. */
  readonly owner: Pick<Owner, 'id' | 'kind' | 'name'>
  /** The repository, or what a new one is to be. */
  readonly repository: { readonly id?: number; readonly name: string }
  readonly kind: Kind
  /** Whether the bytes come from another owner, so that only limits of the owner count. */
  readonly isMove?: boolean
}

/** Returns the kind of the Git objects of a repository. */
export function gitKind({ private: isPrivate }: { readonly private: number }): Kind {
  return isPrivate === 1 ? 'private' : 'public'
}

/**
 * Returns the quota of a repository that exists, with the sizes known that it depends on; undefined
 * if nothing is limited, which one query finds out.
 *
 * @param caller sees numbers if they are the caller's own. Undefined for the server.
 * @param kind undefined for Git objects.
 */
export async function quotaOfRepository(
  app: ReposApp,
  caller: SignedIn | undefined,
  repositoryId: number,
  kind?: Kind,
): Promise<Quota | undefined> {
  const limits = await findLimits(app, rulesOfRepository, repositoryId)
  const repository = limits && (await findRepositoryById(app.db, repositoryId))
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!owner) return undefined
  return openQuota(app, caller, limits, { owner, repository, kind: kind ?? gitKind(repository) })
}

/** Returns the quota of an owner who gets a repository, as `quotaOfRepository` does. */
export async function quotaOfOwner(
  app: ReposApp,
  caller: SignedIn | undefined,
  place: Place,
): Promise<Quota | undefined> {
  const limits = await findLimits(app, rulesOfOwner, place.owner.id)
  return limits && openQuota(app, caller, limits, place)
}

/**
 * Reserves the bytes that ref updates add to a repository.
 *
 * @param quarantine folder of the objects of a push. Undefined if the repository has them already.
 * @returns undefined if nothing limits the updates.
 * @throws QUOTA_EXCEEDED
 */
export async function reserveForUpdates(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
  quarantine: string | undefined,
): Promise<Reservation | undefined> {
  const tips = updates.flatMap(({ to }) => to ?? [])
  const quota = tips.length > 0 ? await quotaOfRepository(app, caller, repositoryId) : undefined
  if (!quota) return undefined
  const bytes =
    quarantine === undefined
      ? await measureNewObjects(app.git, repositoryId, tips)
      : await measureObjects(quarantine)
  await quota.check(app.db, bytes)
  return reservationOf(quota, bytes)
}

/** Returns a reservation of bytes that a quota allowed. */
export function reservationOf(quota: Quota, bytes: number): Reservation {
  return { bytes, checkIn: (tx) => quota.check(tx, bytes) }
}

/** Returns the bytes of a push after which Git ends the push; undefined without a limit. */
export async function maxInputBytes(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<number | undefined> {
  const quota = await quotaOfRepository(app, caller, repositoryId)
  return quota && transferBytes(quota)
}

/**
 * Checks that at least a byte is left, before objects are stored whose bytes are not known yet.
 *
 * @throws QUOTA_EXCEEDED
 */
export async function checkRoom(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<void> {
  const quota = await quotaOfRepository(app, caller, repositoryId)
  await quota?.check(app.db, 1)
}

/** Returns the bytes after which a transfer ends; undefined without a limit. The check decides. */
export async function transferBytes(quota: Quota): Promise<number | undefined> {
  const left = await quota.left()
  return Number.isFinite(left) ? Math.ceil(left * SPARE) + SPARE_BYTES : undefined
}

/** Returns the limits that apply; undefined if there are none. */
async function findLimits(
  app: ReposApp,
  rulesOf: typeof rulesOfOwner,
  id: number,
): Promise<Limits | undefined> {
  const { quotas } = app.settings
  const groups = groupsOf(await rulesOf(app.db, id, JSON.stringify(quotas.defaultGroups)))
  const isLimited = groups.some(({ rules }) => rules.length > 0) || limitsAnything(quotas)
  return isLimited ? { groups, settings: quotas } : undefined
}

async function openQuota(
  app: ReposApp,
  caller: SignedIn | undefined,
  limits: Limits,
  place: Place,
): Promise<Quota> {
  await measureStale(app, limits, place)
  // Use that has fallen since the last mail allows a further one.
  await warnOwner(app, place.owner.id)
  return {
    warn: () => warnOwner(app, place.owner.id),
    async left() {
      const usage = await readUsageAt(app, app.db, limits, place)
      const limit =
        usage && tightestLimit(limitsAt(limits, place), place.owner, SUBJECT_OF[place.kind], usage)
      return limit ? Math.max(limit.left, 0) : Number.POSITIVE_INFINITY
    },
    async check(db, bytes) {
      const added = typeof bytes === 'number' ? { [place.kind]: bytes } : bytes
      const kinds = KINDS.filter((kind) => (added[kind] ?? 0) > 0)
      const usage = kinds.length > 0 ? await readUsageAt(app, db, limits, place) : undefined
      if (!usage) return
      const grown = withBytes(usage, added)
      for (const kind of kinds) {
        const limit = tightestLimit(limitsAt(limits, place), place.owner, SUBJECT_OF[kind], grown)
        if (!limit || limit.left >= 0) continue
        const showsNumbers = caller !== undefined && (await seesNumbers(db, caller, place, limit))
        app.quotaRefusals.add(NAMED_SUBJECTS[kind], limit.scope)
        throw quotaExceeded(place, kind, limit, showsNumbers, sumOf(added))
      }
    },
  }
}

/** Measures the repositories whose sizes decide and are not known. */
async function measureStale(app: ReposApp, limits: Limits, place: Place): Promise<void> {
  // A server that was killed can have left objects behind.
  const { id: repositoryId } = place.repository
  if (repositoryId !== undefined) await reconcileRefs(app, repositoryId)
  if (repositoryId !== undefined && place.isMove) await storeSize(app, repositoryId)
  const ownerId = limits.settings.instance === undefined ? place.owner.id : undefined
  for (const { id, size_stale } of await listUnmeasured(app.db, { ownerId, limit: MAX_MEASURED }))
    if (size_stale === 1) await measureNow(app, id)
}

/** Returns what limits are compared with; undefined while nothing is refused. */
async function readUsageAt(
  { clock }: ReposApp,
  db: Db,
  { settings }: Limits,
  { owner, repository }: Place,
): Promise<CountedUsage | undefined> {
  const withInstance = settings.instance !== undefined
  const usage = await readUsage(db, owner.id, repository.id, withInstance, nowSeconds(clock))
  return usage.isUnmeasured ? undefined : usage
}

function limitsAt({ groups, settings }: Limits, { isMove = false }: Place): Limits {
  if (!isMove) return { groups, settings }
  return { groups, settings: { ...settings, repository: undefined, instance: undefined } }
}

function withBytes(usage: CountedUsage, added: AddedBytes): CountedUsage {
  const bytes = sumOf(added)
  const owner = Object.fromEntries(
    KINDS.map((kind) => [kind, usage.owner[kind] + (added[kind] ?? 0)]),
  ) as Record<Kind, number>
  return {
    ...usage,
    owner,
    repository: usage.repository + bytes,
    instance: usage.instance + bytes,
  }
}

function sumOf(added: AddedBytes): number {
  return Object.values(added).reduce((sum, bytes) => sum + bytes, 0)
}

/** Returns whether a caller may know what counts for a limit. */
async function seesNumbers(
  db: Db,
  caller: SignedIn,
  { owner }: Place,
  { scope }: TightestLimit,
): Promise<boolean> {
  if (actsAsAdministrator(caller, 'read')) return true
  if (scope === 'instance') return false
  if (caller.user.id === owner.id) return true
  if (owner.kind !== 'ORGANIZATION') return false
  return (await findOrganizationRights(db, owner.id, caller.user.id)).isOwner
}

/** The subjects that refusals name. */
const NAMED_SUBJECTS: Readonly<Record<Kind, string>> = {
  ...SUBJECT_OF,
  public: 'size:git:all',
  private: 'size:git:all',
}

/** @param limit with the refused bytes. */
function quotaExceeded(
  { owner, repository }: Place,
  kind: Kind,
  { scope, used, limit }: TightestLimit,
  showsNumbers: boolean,
  bytes: number,
): DomainError {
  const name = scope === 'repository' ? `${owner.name}/${repository.name}` : owner.name
  const numbers = { used: used - bytes, limit, needed: bytes }
  return new DomainError('QUOTA_EXCEEDED', {
    subject: NAMED_SUBJECTS[kind],
    scope,
    ...(scope !== 'instance' && { name }),
    ...(showsNumbers &&
      Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, String(value)]))),
  })
}
