import type { Selectable } from 'kysely'
import type { ContentStore } from '../attachments/schema.ts'

/** The contents of Git LFS, each once for the instance. A content without a row is never served. */
interface LfsContentsTable {
  /** SHA-256 in hexadecimal. */
  oid: string
  bytes: number
  store: ContentStore
  /** Unix seconds. */
  create_time: number
}

/** The objects of repositories. Such a row gives the readers of the repository access to the content. */
interface LfsObjectsTable {
  repository_id: number
  oid: string
  bytes: number
  /** Unix seconds. */
  create_time: number
  /** Unix seconds since when no ref needs the object. Null while one does. */
  unreferenced_since: number | null
}

export type LfsContent = Selectable<LfsContentsTable>
export type LfsObject = Selectable<LfsObjectsTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    lfs_contents: LfsContentsTable
    lfs_objects: LfsObjectsTable
  }
}
