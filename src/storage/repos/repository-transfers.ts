import type { RepositoryTransfer } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

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
