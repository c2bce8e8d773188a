import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { MultipartUpload } from './schema.ts'

/** Adds an upload that begins. @returns its number. */
export async function insertMultipartUpload(
  db: Db,
  upload: Omit<MultipartUpload, 'id'>,
): Promise<number> {
  const { id } = await db
    .insertInto('multipart_uploads')
    .values(upload)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Returns all uploads that have not ended. */
export function listMultipartUploads(db: Db): Promise<MultipartUpload[]> {
  return db.selectFrom('multipart_uploads').selectAll().orderBy('id').execute()
}

/** Forgets an upload that has ended. */
export async function deleteMultipartUpload(db: Db, id: number): Promise<void> {
  await db.deleteFrom('multipart_uploads').where('id', '=', id).execute()
}

/** Forgets all uploads. */
export async function clearMultipartUploads(tx: Tx): Promise<void> {
  await tx.deleteFrom('multipart_uploads').execute()
}
