/** A ref that points to an object. */
export interface Ref {
  /** Full name, such as `refs/heads/main`. */
  readonly name: string
  /** Id of the object: of the tag object for an annotated tag. */
  readonly id: string
}

/** A change of one ref. */
export interface RefUpdate {
  /** Full name, such as `refs/heads/main`. */
  readonly name: string
  /** Expected current object id. Undefined when the ref must not exist. */
  readonly from: string | undefined
  /** New object id. Undefined to delete the ref. */
  readonly to: string | undefined
}

/** Prefix of branches. */
export const HEADS = 'refs/heads/'

/** Prefix of tags. */
export const TAGS = 'refs/tags/'

/** Prefix of internal refs of the server, which clients never see. */
export const OWN_REFS = 'refs/branchline/'

/** Prefix of the refs that hold what a merge queue checks. */
export const QUEUE_REFS = 'refs/queue/'

/**
 * Prefixes of the refs that only the server updates, and of refs by which other forges create pull
 * requests from pushes.
 */
export const SERVER_REFS: readonly string[] = [
  OWN_REFS,
  'refs/pull/',
  QUEUE_REFS,
  'refs/for/',
  'refs/draft/',
  'refs/for-review/',
]
