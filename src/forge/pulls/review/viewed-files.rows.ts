import { createHash } from 'node:crypto'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { ViewedFile } from '../schema.ts'

/** Whose marks, and of which pull request. */
export type FileViewer = Pick<ViewedFile, 'pull_request_id' | 'user_id'>

/** Returns the files that a user has viewed, by path. */
export function listViewedFiles(
  db: Db,
  { pull_request_id, user_id }: FileViewer,
): Promise<Pick<ViewedFile, 'path' | 'version'>[]> {
  return db
    .selectFrom('viewed_files')
    .select(['path', 'version'])
    .where('pull_request_id', '=', pull_request_id)
    .where('user_id', '=', user_id)
    .orderBy('path')
    .execute()
}

/** Returns how many files a user has viewed. */
export async function countViewedFiles(
  db: Db,
  { pull_request_id, user_id }: FileViewer,
): Promise<number> {
  const { count } = await db
    .selectFrom('viewed_files')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('pull_request_id', '=', pull_request_id)
    .where('user_id', '=', user_id)
    .executeTakeFirstOrThrow()
  return count
}

/** Stores which versions of files a user has viewed. */
export async function putViewedFiles(
  tx: Tx,
  viewer: FileViewer,
  files: readonly Pick<ViewedFile, 'path' | 'version'>[],
): Promise<void> {
  const marks = files.map(({ path, version }) => ({
    ...viewer,
    path_hash: hashOf(path),
    path,
    version,
  }))
  await tx
    .insertInto('viewed_files')
    .values(marks)
    .onConflict((conflict) =>
      conflict
        .columns(['pull_request_id', 'user_id', 'path_hash'])
        .doUpdateSet((eb) => ({ version: eb.ref('excluded.version') })),
    )
    .execute()
}

/** Removes marks of a user. */
export async function deleteViewedFiles(
  tx: Tx,
  { pull_request_id, user_id }: FileViewer,
  paths: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('viewed_files')
    .where('pull_request_id', '=', pull_request_id)
    .where('user_id', '=', user_id)
    .where('path_hash', 'in', paths.map(hashOf))
    .execute()
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex')
}
