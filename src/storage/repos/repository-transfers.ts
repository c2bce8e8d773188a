import type { Selectable } from 'kysely'
import type { Db, Tx } from '../database/database.ts'

/** Repositories that are offered to another user, until they are taken or not. */
export interface RepositoryTransfersTable {
  repository_id: number
  /** Who offers it. */
  doer_id: number
  /** Whom it is offered to. */
  recipient_id: number
  /**
   * 0 or 1: whether the recipient was made a collaborator in order to look at it, and is one no
   * longer when it is not taken.
   */
  made_reader: number
  /** Unix seconds. */
  create_time: number
}

export type RepositoryTransfer = Selectable<RepositoryTransfersTable>

/** The offer of a repository; undefined when it is not offered to anybody. */
export function findTransfer(
  db: Db,
  repositoryId: number,
): Promise<RepositoryTransfer | undefined> {
  return db
    .selectFrom('repository_transfers')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/**
 * The offers of those among some repositories that are offered, by the number of the repository.
 */
export async function findTransfers(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, RepositoryTransfer>> {
  if (repositoryIds.length === 0) return new Map()
  const found = await db
    .selectFrom('repository_transfers')
    .selectAll()
    .where('repository_id', 'in', repositoryIds)
    .execute()
  return new Map(found.map((transfer) => [transfer.repository_id, transfer]))
}

/**
 * Stores an offer.
 *
 * @throws a unique violation when the repository is offered to somebody already.
 */
export async function insertTransfer(tx: Tx, transfer: RepositoryTransfer): Promise<void> {
  await tx.insertInto('repository_transfers').values(transfer).execute()
}

/** Ends an offer. @returns whether there was one. */
export async function deleteTransfer(tx: Tx, repositoryId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('repository_transfers')
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
