import type { Generated, Selectable } from 'kysely'

/** What branches were called before, and are called now. */
export interface BranchRenamesTable {
  repository_id: number
  /** Without `refs/heads/`, as is the new one. */
  old_name: string
  new_name: string
  /** Of the note of the update that renames it; null once that has happened. */
  note_id: number | null
}

export type BranchRename = Selectable<BranchRenamesTable>

/**
 * What the branches of a repository point to. Git is the truth; this follows, and answers lists
 * without opening Git.
 */
export interface BranchesTable {
  repository_id: number
  /** Without `refs/heads/`. */
  name: string
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Committer's time of the commit, Unix seconds. */
  commit_time: number
}

/**
 * Updates of refs that were about to be made. A row that is left over means that refs have to be
 * read from Git.
 */
export interface PendingRefUpdatesTable {
  id: Generated<number>
  repository_id: number
  /** Unix seconds. */
  create_time: Generated<number>
}

export type Branch = Selectable<BranchesTable>

export type PendingRefUpdate = Selectable<PendingRefUpdatesTable>

/**
 * What the tags of a repository point to. Git is the truth; this follows, and answers lists without
 * opening Git.
 */
export interface TagsTable {
  repository_id: number
  /** Without `refs/tags/`. */
  name: string
  /** 40 hexadecimal digits: of the tag object for an annotated tag, else of what it names. */
  object_id: string
  /** 0 or 1. */
  annotated: number
  /** Of the commit that it leads to; null for the rare tag of something else. */
  commit_id: string | null
  /** Of the tagger or, without one, of the committer, Unix seconds. */
  time: number
  /** Of the tag object or the commit, without a signature. */
  message: string
}

export type Tag = Selectable<TagsTable>
