/** A ref that holds an object id. */
export interface Ref {
  /** In full, as `refs/heads/main`. */
  readonly name: string
  /** Of the object it names: for an annotated tag the tag object. */
  readonly id: string
}

/** A change of one ref. */
export interface RefUpdate {
  /** In full, as `refs/heads/main`. */
  readonly name: string
  /** What it holds now; undefined where it must not exist. */
  readonly from: string | undefined
  /** What it shall hold; undefined to delete it. */
  readonly to: string | undefined
}

/** Where branches are. */
export const HEADS = 'refs/heads/'

/** Where tags are. */
export const TAGS = 'refs/tags/'

/** Where the server keeps refs of its own, which nobody else sees. */
export const OWN_REFS = 'refs/branchline/'
