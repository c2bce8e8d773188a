import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import {
  type LfsPointer,
  listLfsPointers,
  TooManyFilesError,
  usesLfs,
} from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { intactContents, linkFromNetwork } from './lfs-networks.ts'
import { hasLfsObjects, keepLfsObjects } from './lfs-objects.rows.ts'
import { EMPTY_OID } from './lfs-objects.ts'

/** New files that one check reads, and its time. */
const LIMITS = { maxFiles: 200_000, timeoutMs: 10_000 }

/** Objects that a refusal names. */
const MAX_SHOWN = 10

/** The objects and the tips of a push. */
interface PushedObjects {
  /** Path of the folder of the new objects. */
  readonly quarantine: string
  readonly tips: readonly string[]
}

/** What a check has found. */
export interface PushCheck {
  /** Why the push is refused; empty if it is not. */
  readonly texts: readonly string[]
  /** Lines for the user. */
  readonly notes: readonly string[]
  /** The objects that the push needs. */
  readonly oids: readonly string[]
}

const NOTHING: PushCheck = { texts: [], notes: [], oids: [] }

/**
 * Checks that the repository has the objects of the pointers of a push. Without the check, a clone of
 * others would lack the files.
 */
export async function checkPushedPointers(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  { quarantine, tips }: PushedObjects,
): Promise<PushCheck> {
  const place = { repository: repositoryPath(app.git, repository.id), objects: quarantine }
  if (!(await isChecked(app, repository, place, tips))) return NOTHING
  const pointers: LfsPointer[] = []
  try {
    const { processes } = app.git
    const listed = listLfsPointers(processes, place.repository, quarantine, LIMITS)
    for await (const pointer of listed) pointers.push(pointer)
  } catch (error) {
    const isTooMuch =
      error instanceof TooManyFilesError || (error instanceof GitError && error.kind === 'TIMEOUT')
    if (!isTooMuch) throw error
    return { ...NOTHING, notes: ['the objects of Git LFS were not checked: the push is too large'] }
  }
  const oids = oidsOf(pointers)
  const missing = await missingObjects(app, caller, repository, oids)
  return missing.length === 0 ? { ...NOTHING, oids } : { ...NOTHING, texts: refusalTexts(missing) }
}

function oidsOf(pointers: readonly LfsPointer[]): string[] {
  return [...new Set(pointers.map(({ oid }) => oid))].filter((oid) => oid !== EMPTY_OID)
}

/**
 * Keeps the objects that a push needs, in the transaction that records that refs are about to move.
 *
 * @throws LFS_OBJECTS_MISSING if an object was removed since the check.
 */
export async function keepPushedObjects(
  tx: Tx,
  repositoryId: number,
  oids: readonly string[],
): Promise<void> {
  const kept = await keepLfsObjects(tx, repositoryId, oids)
  const missing = oids.filter((oid) => !kept.has(oid))
  if (missing.length > 0)
    throw new DomainError('LFS_OBJECTS_MISSING', { text: refusalTexts(missing).join('\n') })
}

/** Returns whether pointers are checked: where the repository has objects or names Git LFS. */
async function isChecked(
  app: ReposApp,
  { id }: Repository,
  place: { readonly repository: string; readonly objects: string | undefined },
  tips: readonly string[],
): Promise<boolean> {
  const { lfs, lfsPushCheck } = app.settings
  if (!lfs || !lfsPushCheck) return false
  return (await hasLfsObjects(app.db, id)) || usesLfs(app.git.processes, place, tips)
}

/**
 * Returns the objects of pointers that a repository does not have. Those that the caller can read in
 * the fork network are linked.
 */
async function missingObjects(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  oids: readonly string[],
): Promise<string[]> {
  const own = await intactContents(app, [repository.id], oids)
  const others = oids.filter((oid) => !own.has(oid))
  const linked = await linkFromNetwork(app, { repository, caller }, others)
  return others.filter((oid) => !linked.has(oid))
}

function refusalTexts(missing: readonly string[]): string[] {
  return [
    `LFS objects are missing (${missing.length}): run git lfs push --all origin`,
    ...missing.slice(0, MAX_SHOWN),
  ]
}

/**
 * Returns why a commit of the API with pointers is refused; undefined if it is not.
 *
 * @param commitId the commit, whose objects are stored.
 */
export async function missingInCommit(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  commitId: string,
  pointers: readonly LfsPointer[],
): Promise<string | undefined> {
  if (pointers.length === 0) return undefined
  const place = { repository: repositoryPath(app.git, repository.id), objects: undefined }
  if (!(await isChecked(app, repository, place, [commitId]))) return undefined
  const oids = oidsOf(pointers)
  const missing = await missingObjects(app, caller, repository, oids)
  if (missing.length > 0) return refusalTexts(missing).join('\n')
  // No weekly collection removes an object whose mark was taken away so lately.
  await transaction(app.db, (tx) => keepLfsObjects(tx, repository.id, oids))
  return undefined
}
