import { LRUCache } from 'lru-cache'
import { transaction } from '../../../platform/database/database.ts'
import {
  listReachablePointers,
  TooManyFilesError,
} from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { suffices } from '../../core/levels.ts'
import { openRepositories } from '../access/permissions.ts'
import { findOrigin } from '../content/fork-networks.ts'
import { listNetwork } from '../lifecycle/forks.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { findLfsContents, hasLfsObjects, linkLfsObjects } from './lfs-objects.rows.ts'
import { lfsKey } from './lfs-objects.ts'
import type { LfsContent } from './schema.ts'

/**
 * Repositories of a network of forks in which objects are looked for, the oldest first. The original
 * repository is the oldest one.
 */
const MAX_REPOSITORIES = 1_000

/**
 * Returns the ids of the repositories in the fork network of a repository whose code a caller may
 * read, without the repository itself. The time that this takes does not depend on any object.
 */
async function readableNetwork(
  app: ReposApp,
  caller: Caller,
  repository: Repository,
): Promise<number[]> {
  if (repository.parent_id === null && repository.forks_count === 0) return []
  const origin = await findOrigin(app.db, repository)
  const network = await listNetwork(app.db, origin.id, MAX_REPOSITORIES)
  const opened = await openRepositories(
    app,
    caller,
    network.filter(({ id }) => id !== repository.id),
  )
  return opened.filter(({ access }) => suffices(access, 'read')).map(({ repository: { id } }) => id)
}

/**
 * Gives a repository access to objects that the caller can read in another repository of its fork
 * network. An object elsewhere stays unknown, so that nobody learns of the content of others.
 *
 * @returns the objects that the repository now has.
 */
export async function linkFromNetwork(
  app: ReposApp,
  { repository, caller }: { readonly repository: Repository; readonly caller: Caller },
  oids: readonly string[],
): Promise<ReadonlyMap<string, LfsContent>> {
  // A deploy key has no rights in other repositories.
  const isDeployKey = caller.kind === 'user' && caller.credential.kind === 'deploy key'
  if (oids.length === 0 || isDeployKey) return new Map()
  const network = await readableNetwork(app, caller, repository)
  return linkFrom(app, network, repository.id, oids)
}

/** New files of commits that are read for pointers, and the time of reading. */
const COMMIT_LIMITS = { maxFiles: 1_000_000, timeoutMs: 5 * 60_000 }

/** Objects that are linked in one transaction. */
const OBJECTS_AT_A_TIME = 1_000

/**
 * Gives a repository the objects of the pointers in commits that it got from another repository, so
 * that a merge never leaves a pointer without its object.
 *
 * @param commitId the newest commit, whose objects the repository has.
 */
export async function linkCommits(
  app: ReposApp,
  fromId: number,
  repositoryId: number,
  commitId: string,
): Promise<void> {
  if (!(await hasLfsObjects(app.db, fromId))) return
  const path = repositoryPath(app.git, repositoryId)
  const range = [commitId, '--not', '--branches', '--tags']
  const found = listReachablePointers(app.git.processes, path, range, COMMIT_LIMITS)
  let oids = new Set<string>()
  try {
    for await (const { oid } of found) {
      oids.add(oid)
      if (oids.size < OBJECTS_AT_A_TIME) continue
      await linkFrom(app, [fromId], repositoryId, [...oids])
      oids = new Set()
    }
    await linkFrom(app, [fromId], repositoryId, [...oids])
  } catch (err) {
    if (!(err instanceof TooManyFilesError)) throw err
    // Another try would find as many files.
    app.log.warn({ err, repository: repositoryId, commit: commitId }, 'LFS objects were not linked')
  }
}

/** Gives a repository access to those of some objects that one of other repositories has. */
async function linkFrom(
  app: ReposApp,
  fromIds: readonly number[],
  repositoryId: number,
  oids: readonly string[],
): Promise<ReadonlyMap<string, LfsContent>> {
  const found = await intactContents(app, fromIds, oids)
  if (found.size === 0) return found
  return transaction(app.db, async (tx) => {
    const present = await findLfsContents(tx, fromIds, [...found.keys()])
    await linkLfsObjects(tx, repositoryId, [...present.values()], nowSeconds(app.clock))
    return present
  })
}

/** Returns those contents of repositories whose files are whole. A new upload repairs the others. */
export async function intactContents(
  app: ReposApp,
  repositoryIds: readonly number[],
  oids: readonly string[],
): Promise<Map<string, LfsContent>> {
  const found = await findLfsContents(app.db, repositoryIds, oids)
  const intact = new Map<string, LfsContent>()
  for (const [oid, content] of found) if (await isIntact(app, content)) intact.set(oid, content)
  return intact
}

/** Damaged contents that the log has had, for an hour. */
const REPORTED = new LRUCache<string, true>({ max: 1_000, ttl: 60 * 60_000 })

/** Returns whether the file of a content has the size of its row. */
async function isIntact(app: ReposApp, { oid, bytes, store }: LfsContent): Promise<boolean> {
  const found = await app.objects.of(store).size(lfsKey(oid))
  if (found === bytes) return true
  if (!REPORTED.has(oid))
    app.log.error({ oid, bytes, found }, 'an LFS object is missing or damaged')
  REPORTED.set(oid, true)
  return false
}
