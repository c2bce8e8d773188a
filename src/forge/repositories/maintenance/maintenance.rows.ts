import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { prepareFirst } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { MaintenanceChanges, RepositoryMaintenance } from '../schema.ts'

/** A repository that waits for a step, or whose steps fail. */
export type QueuedMaintenance = RepositoryMaintenance & { readonly ownerId: number }

/** Returns what is stored about the maintenance of a repository, if there is anything. */
export function findMaintenance(
  db: Db,
  repositoryId: number,
): Promise<RepositoryMaintenance | undefined> {
  return db
    .selectFrom('repository_maintenance')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** Returns the time until which updates of refs check their objects. */
export const findRemovalTime = prepareFirst((db, repositoryId: number) =>
  db
    .selectFrom('repository_maintenance')
    .select('removal_until')
    .where('repository_id', '=', repositoryId),
)

/** Returns the commits of a repository that have statuses. */
export async function commitsWithStatuses(db: Db, repositoryId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('commit_status_contexts')
    .select('commit_id')
    .distinct()
    .where('repository_id', '=', repositoryId)
    .execute()
  return rows.map(({ commit_id }) => commit_id)
}

/** Changes what is stored about the maintenance of a repository, or stores it for the first time. */
export async function putMaintenance(
  tx: Tx,
  repositoryId: number,
  changes: MaintenanceChanges,
): Promise<void> {
  await tx
    .insertInto('repository_maintenance')
    .values({ repository_id: repositoryId, ...changes })
    .onConflict((conflict) => conflict.column('repository_id').doUpdateSet(changes))
    .execute()
}

/**
 * Sets the time at which the worker looks at a repository, unless another one was set since the
 * worker has read its row.
 *
 * @param checkTime Unix milliseconds; null for no time.
 */
export async function settleCheck(
  tx: Tx,
  { repository_id, check_time }: RepositoryMaintenance,
  checkTime: number | null,
): Promise<void> {
  await tx
    .updateTable('repository_maintenance')
    .set({ check_time: checkTime })
    .where('repository_id', '=', repository_id)
    .where('check_time', 'is not distinct from', check_time)
    .execute()
}

/** Ends a request for steps, unless another one was made since the worker has read its row. */
export async function settleRequest(
  tx: Tx,
  { repository_id, requested }: RepositoryMaintenance,
): Promise<void> {
  await tx
    .updateTable('repository_maintenance')
    .set({ requested: '' })
    .where('repository_id', '=', repository_id)
    .where('requested', '=', requested)
    .execute()
}

/** Lets the worker look at all repositories. For repositories whose folders were restored. */
export async function checkAllRepositories(tx: Tx): Promise<void> {
  await tx
    .insertInto('repository_maintenance')
    .columns(['repository_id', 'check_time'])
    .expression((eb) =>
      eb
        .selectFrom('repositories')
        .select(({ val }) => ['id', val(0).as('check_time')])
        // SQLite would read the conflict clause as the condition of a join
        // (https://sqlite.org/lang_upsert.html, "Parsing Ambiguity").
        .where('id', '>', 0),
    )
    .onConflict((conflict) => conflict.column('repository_id').doUpdateSet({ check_time: 0 }))
    .execute()
}

/**
 * The queue of repositories that the worker looks at.
 *
 * @param onlyRequested leaves out those that nobody has requested.
 */
export function maintenanceQueue(db: Db, onlyRequested: boolean): DueQueue {
  const rows = db
    .selectFrom('repository_maintenance')
    .innerJoin('repositories', 'repositories.id', 'repository_maintenance.repository_id')
    .select([
      'repository_maintenance.repository_id as id',
      'repositories.owner_id as ownerId',
      'repository_maintenance.check_time as dueTime',
    ])
    .$if(onlyRequested, (query) => query.where('repository_maintenance.requested', '<>', ''))
  return dueQueue(db, rows)
}

/**
 * Returns the repositories in which a step ended after a time.
 *
 * @param afterMs Unix milliseconds.
 */
export async function repositoriesStepped(db: Db, afterMs: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repository_maintenance')
    .select('repository_id')
    .where('step_time', '>', afterMs)
    .execute()
  return rows.map((row) => row.repository_id)
}

/** Returns the number of repositories that wait for a step now. */
export async function countDue(db: Db, now: number): Promise<number> {
  const { count } = await db
    .selectFrom('repository_maintenance')
    .where('check_time', '<=', now)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns the bytes of all repositories by their kinds. */
export async function sumBytes(db: Db) {
  const row = await db
    .selectFrom('repositories')
    .select(({ fn }) => [
      fn.sum<number>('owned_bytes').as('owned'),
      fn.sum<number>('loose_bytes').as('loose'),
      fn.sum<number>('lfs_bytes').as('lfs'),
      fn.sum<number>('release_bytes').as('releases'),
      fn.sum<number>('attachment_bytes').as('attachments'),
    ])
    .executeTakeFirstOrThrow()
  const [loose, lfs] = [Number(row.loose ?? 0), Number(row.lfs ?? 0)]
  const packs = Math.max(0, Number(row.owned ?? 0) - loose)
  const assets = Number(row.releases ?? 0) + Number(row.attachments ?? 0)
  return { packs, loose, lfs, assets }
}

/** Returns a page of the repositories that wait for a step or whose steps fail, and their number. */
export async function listQueue(db: Db, now: number, offset: number, limit: number) {
  const queue = db
    .selectFrom('repository_maintenance')
    .innerJoin('repositories', 'repositories.id', 'repository_maintenance.repository_id')
    .where((eb) => eb.or([eb('check_time', '<=', now), eb('failures', '>', 0)]))
  const [rows, { count }] = await Promise.all([
    queue
      .selectAll('repository_maintenance')
      .select('repositories.owner_id as ownerId')
      .orderBy('check_time')
      .orderBy('repository_id')
      .limit(limit)
      .offset(offset)
      .execute(),
    queue.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: Number(count) }
}

/** Returns the repositories whose steps are paused after failures. */
export function listPaused(db: Db, now: number): Promise<RepositoryMaintenance[]> {
  return db
    .selectFrom('repository_maintenance')
    .selectAll()
    .where('pause_time', '>', now)
    .orderBy('repository_id')
    .execute()
}
