import type { Db } from '../../platform/database/schema.ts'
import { pageOfIssueAttachments } from '../conversations/attachments.rows.ts'
import type { ContentStore } from '../repositories/attachments/schema.ts'
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
