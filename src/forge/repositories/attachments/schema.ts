import type { Generated, Selectable } from 'kysely'

/** A change of the store of a content. */
export interface StoreChange {
  readonly from: ContentStore
  readonly to: ContentStore
}

/** A file of a repository. */
export interface FilePlace {
  readonly repositoryId: number
  readonly uuid: string
}

/** Where the content of a row is: in the data folder, or in the object storage. */
export type ContentStore = 'disk' | 's3'

/**
 * Contents that no row needs any more. Triggers add a row in the transaction that deletes the row of
 * the content, so that neither a crash nor a store that is away forgets the content.
 */
interface StorageDeletionsTable {
  id: Generated<number>
  store: ContentStore
  object_key: string
  /** Unix seconds. */
  due_time: number
  /** The number of failed tries. */
  tries: Generated<number>
  /** Unix seconds. Set while a server deletes the content; older than some minutes after a crash. */
  claim_time: number | null
}

export type StorageDeletion = Selectable<StorageDeletionsTable>

/** Uploads in parts to the object storage that have not ended. */
interface MultipartUploadsTable {
  id: Generated<number>
  /** The server that uploads; 0 for a server that is alone, null for a command. */
  server_id: number | null
  object_key: string
  upload_id: string
  /** Unix seconds. */
  create_time: number
}

export type MultipartUpload = Selectable<MultipartUploadsTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    multipart_uploads: MultipartUploadsTable
    storage_deletions: StorageDeletionsTable
  }
}
