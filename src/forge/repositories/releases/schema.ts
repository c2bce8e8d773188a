import type { Generated, Insertable, Selectable } from 'kysely'
import type { ContentStore } from '../attachments/schema.ts'

/**
 * Release assets. The file is written before its row and removed after it, so that no row is
 * without its file.
 */
export interface ReleaseAssetsTable {
  /** Never reused. */
  id: Generated<number>
  /** The repository of the release. */
  repository_id: number
  release_id: number
  /** Names the file on disk and in download URLs. */
  uuid: string
  name: string
  /** Size of the file in bytes. */
  bytes: number
  /** The number of downloads that were started. */
  download_count: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** The store that has the file. */
  store: Generated<ContentStore>
}

export type ReleaseAsset = Selectable<ReleaseAssetsTable>

export type NewReleaseAsset = Insertable<ReleaseAssetsTable>

export interface ReleasesTable {
  /** Never reused. */
  id: Generated<number>
  repository_id: number
  /**
   * Name of the Git tag, which a draft may lack. Unique in the repository, regardless of the case
   * of ASCII letters.
   */
  tag_name: string
  /**
   * 0 or 1. A deleted release whose Git tag remains keeps its row and id, in case the tag gets a
   * release again.
   */
  tag_only: number
  /** 0 or 1. */
  draft: number
  /** 0 or 1. */
  prerelease: number
  /** Id of the user who published the release. The account may be deleted. */
  publisher_id: number
  /**
   * Time of publication or, if its tag existed before, of the tag. Of a draft, the time when it was
   * last saved. Unix seconds.
   */
  create_time: number
  /** Branch or commit that the tag is created from, as the client gave it. */
  target: string
  title: string
  /** Login, full name and id of an author at another server; empty and 0 for others. */
  original_author: Generated<string>
  original_name: Generated<string>
  original_author_id: Generated<number>
  /** Markdown. */
  note: string
}

export type Release = Selectable<ReleasesTable>

export type NewRelease = Insertable<ReleasesTable>

export type ReleaseChanges = Partial<Omit<NewRelease, 'id' | 'repository_id'>>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    release_assets: ReleaseAssetsTable
    releases: ReleasesTable
  }
}
