import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { RepositoryTransfer } from '../schema.ts'

/** Returns the pending transfer of a repository, if there is one. */
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

/** Returns the pending transfers among repositories, by repository id. */
export async function findTransfers(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, RepositoryTransfer>> {
  if (repositoryIds.length === 0) return new Map()
  const found = await transfersOf(db, JSON.stringify(repositoryIds))
  return new Map(found.map((transfer) => [transfer.repository_id, transfer]))
}

const transfersOf = prepareQuery((db, repositoryIds: string) =>
  db
    .selectFrom('repository_transfers')
    .selectAll()
    .where('repository_id', 'in', numbersOf(repositoryIds)),
)

/**
 * Inserts a transfer.
 *
 * @throws a unique violation if the repository has a pending transfer
 */
export async function insertTransfer(tx: Tx, transfer: RepositoryTransfer): Promise<void> {
  await tx.insertInto('repository_transfers').values(transfer).execute()
}

/**
 * Deletes a transfer.
 *
 * @returns whether there was one
 */
export async function deleteTransfer(tx: Tx, repositoryId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('repository_transfers')
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
