import { GitError } from '../../../platform/git/core/errors.ts'
import { isObjectId } from '../../../platform/git/core/object-ids.ts'
import { OWN_REFS } from '../../../platform/git/core/ref-names.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { currentReader, readAs } from '../../../platform/git/processes/readers.ts'
import { resolveCommit } from '../../../platform/git/refs/refs.ts'
import { type Caller, holderOf } from '../../core/access.ts'
import { DomainError, gitLimitError, metadataText, type Reason } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'

/**
 * Shared rules for reading from Git.
 *
 * An object is found by its id in the object store of its own repository only. A fork starts with
 * links to all objects of its parent, which its creator could read there, and shares nothing with
 * it afterwards. A fork of a private repository is private as long as its parent is. So a reader of
 * a repository can read every object that was ever pushed to it, or to its ancestors before the
 * fork, until Git collects the object. Deleting a branch does not hide its commits.
 */

/** Returns whether a ref, by its full name, is internal to the server. */
export function isOwnRef(name: string): boolean {
  return name.startsWith(OWN_REFS)
}

/**
 * Waits for a read from Git and translates its errors to SERVER_BUSY, GIT_TIMEOUT,
 * GIT_MEMORY_EXCEEDED and, for diffs, DIFF_TOO_LARGE.
 */
export async function reading<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw explained(error)
  }
}

/** Streams the output of Git, with the errors of `reading`. */
export async function* readingStream(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    throw explained(error)
  }
}

function explained(error: unknown): unknown {
  if (!(error instanceof GitError)) return error
  return error.kind === 'TOO_LARGE'
    ? new DomainError('DIFF_TOO_LARGE')
    : (gitLimitError(error) ?? error)
}

/**
 * Resolves a text of a client to a commit. The first match counts: a full id, a full ref name, a
 * branch, a tag, an abbreviated id. An empty text names the default branch.
 *
 * @returns the id of the commit, if there is one
 */
export async function findCommitId(
  app: ReposApp,
  { id, default_branch }: Pick<Repository, 'id' | 'default_branch'>,
  text: string,
): Promise<string | undefined> {
  const name = text === '' ? `refs/heads/${default_branch}` : text
  if (isOwnRef(name)) return undefined
  const commit = isObjectId(name) ? await readCommit(app.git, id, name) : undefined
  if (commit) return commit.id
  try {
    return await reading(resolveCommit(app.git, id, name))
  } catch (error) {
    // An ambiguous abbreviated id names no commit.
    if (error instanceof GitError && error.kind === 'AMBIGUOUS') return undefined
    throw error
  }
}

/** Resolves a text of a client to a commit that must exist. */
export async function commitIdOf(
  app: ReposApp,
  repository: Repository,
  text: string,
): Promise<string> {
  const commitId = await findCommitId(app, repository, text)
  if (commitId === undefined) throw notFound('REF_NOT_FOUND', 'ref', text)
  return commitId
}

/** Returns the error for something that does not exist. */
export function notFound(reason: Reason, what: 'ref' | 'path' | 'sha', text: string): DomainError {
  return new DomainError(reason, { [what]: metadataText(text) })
}

/** Returns a full object id unchanged. */
export function checkObjectId(text: string): string {
  if (!isObjectId(text)) throw notFound('OBJECT_NOT_FOUND', 'sha', text)
  return text
}

/**
 * Runs the work of a call on behalf of its caller, so that reads from Git count towards the limits
 * of the account, or of the network of an anonymous peer.
 *
 * @param admit receives the number of bytes before content is read for a response; throws if the
 *   caller has reached a limit
 */
export function readFor<T>(caller: Caller, admit: (bytes: number) => void, work: () => T): T {
  return readAs({ holder: holderOf(caller), admit }, work)
}

/**
 * Reports the size of content before it is read for a response that is sent as a whole.
 *
 * @throws if too much of the caller's earlier responses is still in memory
 */
export function admitContent(bytes: number): void {
  currentReader()?.admit(bytes)
}
