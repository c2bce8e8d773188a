import type { Generated, Insertable, Selectable, Updateable } from 'kysely'

/** Imports of projects, the latest one of each repository. */
interface ProjectImportsTable {
  id: Generated<number>
  repository_id: number
  /** Who imports; null if the account was deleted. */
  user_id: number | null
  service: string
  /** Address of the Git repository, without credentials. */
  url: string
  /** Origin of the other server's API, which a provider of its accounts has; empty for an archive. */
  identity_origin: Generated<string>
  /** What is added to the numbers of pull requests. */
  number_offset: number
  /** The kinds of records to import, separated by commas. */
  kinds: string
  /** Sealed token and credentials; null without any, and at the end. */
  secrets: Buffer | null
  state: ImportState
  /** What is imported now: a kind of record, `objects` or `finish`. */
  phase: string
  /** Where the next page of the phase begins; empty for the first one. */
  cursor: Generated<string>
  /** Counts by kind, as JSON. */
  progress: Generated<string>
  /** What could not be imported, as JSON. */
  errors: Generated<string>
  /** Why the import waits or has failed; empty otherwise. */
  message: Generated<string>
  /** Failed attempts since the last progress. */
  tries: Generated<number>
  /** Time of the next attempt, in Unix milliseconds; null for an import that has ended. */
  due_time: number | null
  /** Unix seconds. */
  create_time: number
  /** Unix seconds; null while the import runs. */
  end_time: number | null
  /** The number of the server that imports an archive; null for a server that is alone. */
  server_id: Generated<number | null>
}

/** The last three are final. */
export type ImportState = 'RUNNING' | 'WAITING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED'

export type ProjectImport = Selectable<ProjectImportsTable>

export type NewProjectImport = Insertable<ProjectImportsTable>

export type ProjectImportChanges = Omit<
  Updateable<ProjectImportsTable>,
  'id' | 'repository_id' | 'create_time'
>

/** What a running import has stored, by the ids of the other server. */
interface ProjectImportItemsTable {
  import_id: number
  kind: string
  source_id: string
}

declare module '../../platform/database/schema.ts' {
  interface Schema {
    project_imports: ProjectImportsTable
    project_import_items: ProjectImportItemsTable
  }
}
