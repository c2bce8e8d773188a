import type { Generated, Selectable } from 'kysely'

/** Renamed branches. */
export interface BranchRenamesTable {
  repository_id: number
  /** Without `refs/heads/`, like the new name. */
  old_name: string
  new_name: string
  /** Id of the pending update that renames the branch; null once the branch has been renamed. */
  note_id: number | null
}

export type BranchRename = Selectable<BranchRenamesTable>

/**
 * An index of the branches of a repository, which lists read instead of Git. Git is authoritative.
 */
export interface BranchesTable {
  repository_id: number
  /** Without `refs/heads/`. */
  name: string
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Committer date of the commit in Unix seconds. */
  commit_time: number
}

/**
 * Ref updates in progress. A row that remains after a crash means that the index of refs must be
 * reconciled with Git.
 */
export interface PendingRefUpdatesTable {
  id: Generated<number>
  repository_id: number
  /** Unix seconds. */
  create_time: Generated<number>
  /** The server that works on the update, if several share the database. */
  server_id: number | null
  /**
   * The account that moves refs; null for the server itself. Without `targets`: the account that
   * creates the repository, until its webhook messages are queued.
   */
  pusher_id: number | null
  /** JSON: the refs that the account moves, each with its new object, empty for a deletion. */
  targets: string | null
}

export type Branch = Selectable<BranchesTable>

export type PendingRefUpdate = Selectable<PendingRefUpdatesTable>

/** An index of the tags of a repository, which lists read instead of Git. Git is authoritative. */
export interface TagsTable {
  repository_id: number
  /** Without `refs/tags/`. */
  name: string
  /**
   * 40 hexadecimal digits: the id of the tag object of an annotated tag, else of the object that
   * the tag points to.
   */
  object_id: string
  /** 0 or 1. */
  annotated: number
  /**
   * Id of the commit that the tag points to, directly or through tag objects; null if it points to
   * another object.
   */
  commit_id: string | null
  /** Date of the tagger or, without one, of the committer, in Unix seconds. */
  time: number
  /** Message of the tag object or the commit, without a signature. */
  message: string
}

export type Tag = Selectable<TagsTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    branch_renames: BranchRenamesTable
    branches: BranchesTable
    pending_ref_updates: PendingRefUpdatesTable
    tags: TagsTable
  }
}
