import type { Db } from '../../platform/database/schema.ts'
import { pageOfIssueAttachments } from '../conversations/attachments.rows.ts'
import type { ContentStore, StorageDeletion } from '../repositories/attachments/schema.ts'
import { pageOfDeletions } from '../repositories/attachments/storage-deletions.rows.ts'
import { pageOfLfsContents } from '../repositories/lfs/lfs-objects.rows.ts'
import { LFS_KEYS, lfsKey } from '../repositories/lfs/lfs-objects.ts'
import type { LfsContent } from '../repositories/lfs/schema.ts'
import { pageOfAttachments } from '../repositories/releases/release-assets.rows.ts'

/** The number of rows that are read at a time. */
const ROWS_PER_QUERY = 500

/** A row with a file. */
interface FileRow {
  readonly id: number
  readonly uuid: string
  readonly repository_id: number
  readonly bytes: number
  readonly store: ContentStore
}

type Rows = AsyncGenerator<FileRow, void, undefined>

/** Yields the rows of release assets. */
export const releaseFiles = (db: Db): Rows => allRows(db, pageOfAttachments)

/** Yields the rows of attachments of issues, pull requests and comments. */
export const issueFiles = (db: Db): Rows => allRows(db, pageOfIssueAttachments)

async function* allRows(
  db: Db,
  pageAfter: (db: Db, after: string, limit: number) => Promise<FileRow[]>,
): Rows {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await pageAfter(db, after, ROWS_PER_QUERY)
    yield* page
    after = page.at(-1)?.uuid
  }
}

/** Yields the contents of Git LFS. */
export async function* lfsContents(db: Db): AsyncGenerator<LfsContent, void, undefined> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: LfsContent[] = await pageOfLfsContents(db, after, ROWS_PER_QUERY)
    yield* page
    after = page.at(-1)?.oid
  }
}

/** Where a content is. */
export interface ContentPlace {
  readonly key: string
  readonly store: ContentStore
}

/**
 * Yields where contents of Git LFS are: those with rows, and those whose deletion is queued, which the
 * rows of an earlier moment may need.
 */
export async function* lfsPlaces(db: Db): AsyncGenerator<ContentPlace, void, undefined> {
  for await (const { oid, store } of lfsContents(db)) yield { key: lfsKey(oid), store }
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: StorageDeletion[] = await pageOfDeletions(db, LFS_KEYS, after, ROWS_PER_QUERY)
    for (const { object_key: key, store } of page) yield { key, store }
    after = page.at(-1)?.id
  }
}
