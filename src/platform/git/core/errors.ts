/** Errors of a repository that a caller can handle. */
export type GitErrorKind =
  /** The ref or object does not exist. */
  | 'NOT_FOUND'
  /** The repository was deleted, or has not been created yet. */
  | 'NO_REPOSITORY'
  /** The name is taken. */
  | 'EXISTS'
  /** A ref no longer has the value that the caller expects. */
  | 'STALE'
  /** Two refs cannot exist together, such as `a` and `a/b`. */
  | 'NAME_COLLISION'
  /** Another writer holds a lock, or was killed while holding one. */
  | 'LOCKED'
  /** Git does not allow the name. */
  | 'INVALID_NAME'
  /** Several objects match an abbreviated object id. */
  | 'AMBIGUOUS'
  /** A limit of concurrent processes is reached. */
  | 'BUSY'
  /** An operation exceeded its time limit. */
  | 'TIMEOUT'
  /** An operation exceeded its memory limit. */
  | 'OUT_OF_MEMORY'
  /** The data exceed the limit of one read. */
  | 'TOO_LARGE'

/** An error that a caller can handle. All other errors of Git are faults and pass unchanged. */
export class GitError extends Error {
  readonly kind: GitErrorKind

  constructor(kind: GitErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'GitError'
    this.kind = kind
  }
}

/** Codes of libgit2 (git2/errors.h) that become a GitError. */
const KINDS: ReadonlyMap<unknown, GitErrorKind> = new Map([
  [-3, 'NOT_FOUND'],
  [-4, 'EXISTS'],
  [-5, 'AMBIGUOUS'],
  [-12, 'INVALID_NAME'],
  [-14, 'LOCKED'],
])

/** Waits for a call of libgit2 and converts its error codes to a GitError. */
export async function explained<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    const kind = error instanceof Error && 'errno' in error ? KINDS.get(error.errno) : undefined
    throw kind ? new GitError(kind, (error as Error).message, { cause: error }) : error
  }
}

/** Waits for a call of libgit2. Returns undefined when the ref or object does not exist. */
export async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await explained(call)
  } catch (error) {
    if (error instanceof GitError && error.kind === 'NOT_FOUND') return undefined
    throw error
  }
}
