import { textsOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'

/** Returns repositories with objects that no sweep has seen since a time, in the order of their ids. */
export async function repositoriesToSweep(
  db: Db,
  before: number,
  limit: number,
): Promise<number[]> {
  const due = await db
    .selectFrom('repositories')
    .select('id')
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('lfs_objects')
          .select('lfs_objects.oid')
          .whereRef('lfs_objects.repository_id', '=', 'repositories.id'),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('lfs_sweeps')
            .select('lfs_sweeps.repository_id')
            .whereRef('lfs_sweeps.repository_id', '=', 'repositories.id')
            .where('sweep_time', '>', before),
        ),
      ),
    )
    .orderBy('id')
    .limit(limit)
    .execute()
  return due.map(({ id }) => id)
}

/** Records a sweep of a repository. Does nothing if the repository is gone. */
export async function putLfsSweep(tx: Tx, repositoryId: number, time: number): Promise<void> {
  await tx
    .insertInto('lfs_sweeps')
    .columns(['repository_id', 'sweep_time'])
    .expression((eb) =>
      eb
        .selectFrom('repositories')
        .select(({ val }) => ['id', val(time).as('sweep_time')])
        .where('id', '=', repositoryId),
    )
    .onConflict((conflict) => conflict.column('repository_id').doUpdateSet({ sweep_time: time }))
    .execute()
}

/** Makes a sweep of all repositories due. */
export async function forgetLfsSweeps(tx: Tx): Promise<void> {
  await tx.deleteFrom('lfs_sweeps').execute()
}

/** Marks those of some objects of a repository that have no mark and are older than a time. */
export async function markUnreferenced(
  tx: Tx,
  repositoryId: number,
  oids: readonly string[],
  { now, olderThan }: { readonly now: number; readonly olderThan: number },
): Promise<void> {
  await tx
    .updateTable('lfs_objects')
    .set({ unreferenced_since: now })
    .where('repository_id', '=', repositoryId)
    .where('oid', 'in', textsOf(JSON.stringify(oids)))
    .where('unreferenced_since', 'is', null)
    .where('create_time', '<=', olderThan)
    .execute()
}
