import type { Generated, Insertable, Selectable } from 'kysely'
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

/** Locks of files, at most one for each path of a repository. */
interface LfsLocksTable {
  id: Generated<number>
  repository_id: number
  path: string
  user_id: number
  /** The ref that the client named, for people; empty for none. */
  ref: string
  /** Unix seconds. */
  create_time: number
}

/** When the objects of repositories were last compared with their refs. */
interface LfsSweepsTable {
  repository_id: number
  /** Unix seconds. */
  sweep_time: number
}

/** Bytes of uploads that are allowed and not stored yet. */
interface LfsReservationsTable {
  repository_id: number
  oid: string
  bytes: number
  /** Unix seconds. */
  expire_time: number
}

export type LfsContent = Selectable<LfsContentsTable>
export type LfsObject = Selectable<LfsObjectsTable>
export type LfsLock = Selectable<LfsLocksTable>
export type NewLfsLock = Insertable<LfsLocksTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    lfs_contents: LfsContentsTable
    lfs_locks: LfsLocksTable
    lfs_objects: LfsObjectsTable
    lfs_reservations: LfsReservationsTable
    lfs_sweeps: LfsSweepsTable
  }
}
