import type { Generated, Insertable, Selectable } from 'kysely'

/**
 * Files that come with releases. A row is there only while its file is: the file is written first,
 * and removed last.
 */
export interface ReleaseAssetsTable {
  /** Never given a second time. */
  id: Generated<number>
  release_id: number
  /** Names the file, and leads to it from outside. */
  uuid: string
  name: string
  /** Size of the file. */
  bytes: number
  /** How often its download was begun. */
  download_count: Generated<number>
  /** Unix seconds. */
  create_time: number
}

export type ReleaseAsset = Selectable<ReleaseAssetsTable>

export type NewReleaseAsset = Insertable<ReleaseAssetsTable>

export interface ReleasesTable {
  /** Never given a second time. */
  id: Generated<number>
  repository_id: number
  /**
   * As the tag of Git is called, where there is one. Unique in its repository, in any case of ASCII
   * letters.
   */
  tag_name: string
  /**
   * 0 or 1: what a release leaves behind when it is deleted and its tag stays. It keeps the id,
   * should the tag get a release again.
   */
  tag_only: number
  /** 0 or 1. */
  draft: number
  /** 0 or 1. */
  prerelease: number
  /** Of the user who published it, who may be gone. */
  publisher_id: number
  /**
   * When it was published, or when its tag was made if that was there before; of a draft when it
   * was last saved. Unix seconds.
   */
  create_time: number
  /** Branch or commit that the tag is made from, as given. */
  target: string
  title: string
  /** Markdown. */
  note: string
}

export type Release = Selectable<ReleasesTable>

export type NewRelease = Insertable<ReleasesTable>

export type ReleaseChanges = Partial<Omit<NewRelease, 'id' | 'repository_id'>>
