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

/** Prefix of the refs that keep the heads of pull requests of another server while these are imported. */
export const IMPORT_REFS = `${OWN_REFS}import/`

/** Prefix of the refs that hold what a merge queue checks. */
export const QUEUE_REFS = 'refs/queue/'

/** Prefixes of the refs of pushes that open or update pull requests. No such ref ever exists. */
export const PROPOSAL_REFS = [
  'refs/for/',
  'refs/draft/',
  'refs/drafts/',
  'refs/for-review/',
] as const

/** Prefixes of the refs that only the server updates. Pushes do not see them. */
export const HIDDEN_REFS: readonly string[] = [OWN_REFS, 'refs/pull/', QUEUE_REFS]

/** Prefixes of the refs that no user creates. */
export const SERVER_REFS: readonly string[] = [...HIDDEN_REFS, ...PROPOSAL_REFS]
