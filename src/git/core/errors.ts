/** What can go wrong in a repository that a caller can do something about. */
export type GitErrorKind =
  /** No ref or object of that name. */
  | 'NOT_FOUND'
  /** No repository: it was deleted meanwhile, or is still being made. */
  | 'NO_REPOSITORY'
  /** Something of that name is there already. */
  | 'EXISTS'
  /** A ref does not hold the value that the caller saw. */
  | 'STALE'
  /** A ref cannot be there beside another one, as `a` and `a/b` cannot. */
  | 'NAME_COLLISION'
  /** Another writer holds a lock, or did when it was killed. */
  | 'LOCKED'
  /** This is no name that Git allows. */
  | 'INVALID_NAME'
  /** An abbreviated object id that several objects begin with. */
  | 'AMBIGUOUS'
  /** As many processes read already as there may be. */
  | 'BUSY'
  /** Reading took longer than it may. */
  | 'TIMEOUT'
  /** Reading took more memory than it may. */
  | 'OUT_OF_MEMORY'
  /** There is more of it than is read at once. */
  | 'TOO_LARGE'

/** A situation in a repository. Everything else that Git throws is a fault and passes as it is. */
export class GitError extends Error {
  readonly kind: GitErrorKind

  constructor(kind: GitErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'GitError'
    this.kind = kind
  }
}

/** Codes of libgit2 (git2/errors.h) that are situations. */
const KINDS: ReadonlyMap<unknown, GitErrorKind> = new Map([
  [-3, 'NOT_FOUND'],
  [-4, 'EXISTS'],
  [-5, 'AMBIGUOUS'],
  [-12, 'INVALID_NAME'],
  [-14, 'LOCKED'],
])

/** Waits for a call of libgit2 and turns its error codes into situations. */
export async function explained<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    const kind = error instanceof Error && 'errno' in error ? KINDS.get(error.errno) : undefined
    throw kind ? new GitError(kind, (error as Error).message, { cause: error }) : error
  }
}

/** Waits for a call of libgit2; undefined where what it asks for is not there. */
export async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await explained(call)
  } catch (error) {
    if (error instanceof GitError && error.kind === 'NOT_FOUND') return undefined
    throw error
  }
}
