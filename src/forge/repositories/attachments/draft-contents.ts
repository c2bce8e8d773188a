import { transaction } from '../../../platform/database/database.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import type { StorageDeletion } from './schema.ts'
import {
  endStorageDeletion,
  postponeUnclaimed,
  queueStorageDeletion,
} from './storage-deletions.rows.ts'
import { cancelDeletion, deleteDiscardedFiles } from './storage-deletions.ts'

/** Contents that get no row in this time are deleted. */
const DRAFT_SECONDS = 24 * 60 * 60

/** A content by its place. */
export type StoredContent = Pick<StorageDeletion, 'store' | 'object_key'>

/**
 * Writes contents, and then their rows. The deletion of the contents is queued before, so that neither
 * a crash nor a store that is away leaves a content without a row. That deletion ends with the rows,
 * and deletes no content that a row needs.
 *
 * No transaction is open while the contents are written, since a store may be slow.
 *
 * @param insertRows stores the rows, in its transaction.
 * @throws SERVER_BUSY if another server deletes one of the contents at this moment; what `write` and
 *   `insertRows` throw.
 */
export async function withDrafts<T, W>(
  app: ReposApp,
  contents: readonly StoredContent[],
  write: () => Promise<W>,
  insertRows: (written: W) => Promise<T>,
): Promise<T> {
  const { db, clock } = app
  const ids = await transaction(db, async (tx) => {
    const queued: number[] = []
    for (const content of contents) {
      await cancelDeletion(app, tx, content)
      const due_time = nowSeconds(clock) + DRAFT_SECONDS
      queued.push(await queueStorageDeletion(tx, { ...content, due_time }))
    }
    return queued
  })
  try {
    const written = await write()
    const keepUntil = nowSeconds(clock) + DRAFT_SECONDS
    for (const id of ids)
      if (!(await postponeUnclaimed(db, id, keepUntil))) throw new DomainError('SERVER_BUSY')
    const result = await insertRows(written)
    for (const id of ids) await endStorageDeletion(db, id)
    return result
  } catch (error) {
    // Where the database is away, the deletions come later.
    for (const id of ids) await postponeUnclaimed(db, id, nowSeconds(clock)).catch(() => false)
    deleteDiscardedFiles(app)
    throw error
  }
}
