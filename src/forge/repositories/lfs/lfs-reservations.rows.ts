import { textsOf } from '../../../platform/database/prepared.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { LfsObject } from './schema.ts'

/**
 * The bytes of uploads that are allowed and not stored yet. They count for quotas until they are stored,
 * or until the links for their uploads have expired.
 */

/** Ends the reservations of some objects of a repository, and all that have expired. @param now in Unix seconds. */
export async function endLfsReservations(
  tx: Tx,
  repositoryId: number,
  oids: readonly string[],
  now: number,
): Promise<void> {
  await tx.deleteFrom('lfs_reservations').where('expire_time', '<=', now).execute()
  await tx
    .deleteFrom('lfs_reservations')
    .where('repository_id', '=', repositoryId)
    .where('oid', 'in', textsOf(JSON.stringify(oids)))
    .execute()
}

/** Reserves the bytes of objects without a reservation. @param expireTime in Unix seconds. */
export async function reserveLfsObjects(
  tx: Tx,
  repositoryId: number,
  objects: readonly Pick<LfsObject, 'oid' | 'bytes'>[],
  expireTime: number,
): Promise<void> {
  const rows = objects.map(({ oid, bytes }) => ({
    repository_id: repositoryId,
    oid,
    bytes,
    expire_time: expireTime,
  }))
  if (rows.length > 0) await tx.insertInto('lfs_reservations').values(rows).execute()
}
