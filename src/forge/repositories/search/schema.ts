import type { Generated, Selectable } from 'kysely'

/**
 * What the code index has of each repository. A trigger makes a repository due when its refs or its
 * default branch change.
 */
export interface CodeIndexesTable {
  repository_id: number
  /** The commit whose files are in the index; null for none. */
  commit_id: string | null
  /** Bytes of the indexed texts. */
  bytes: Generated<number>
  /** 0 or 1: whether texts are left out because of a limit. */
  is_partial: Generated<number>
  /** Time of the next look, in Unix milliseconds; null while nothing is to be done. */
  due_time: number | null
  /** Number of changes. A change during a look shows that another look is necessary. */
  wake_count: Generated<number>
}

export type CodeIndex = Selectable<CodeIndexesTable>

/** The files of the indexed commits. Their trigrams are in `dialects/code-index.ts`. */
export interface CodeFilesTable {
  /** Never reused. */
  id: Generated<number>
  repository_id: number
  /** In the format of `textOfPath`. */
  path: string
  blob_id: string
  /** Bytes of the text; 0 for a file without a text. */
  bytes: number
}

export type CodeFile = Selectable<CodeFilesTable>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    code_files: CodeFilesTable
    code_indexes: CodeIndexesTable
  }
}
