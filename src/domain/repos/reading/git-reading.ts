import { GitError } from '../../../git/core/errors.ts'
import { isObjectId } from '../../../git/core/object-ids.ts'
import { OWN_REFS } from '../../../git/core/ref-names.ts'
import { readCommit } from '../../../git/objects/commits.ts'
import { resolveCommit } from '../../../git/refs/refs.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import { DomainError, gitLimitError, metadataText, type Reason } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'

/**
 * What all reading of Git has in common.
 *
 * An object is found by its id wherever it is in the folder of the repository that was opened, and
 * nowhere else: repositories borrow nothing from each other. A fork begins with links to everything
 * that its parent has at that moment, all of which its maker could read there, and from then on
 * each goes its own way; a fork of a private repository is private as long as that is. So whoever
 * may read a repository may read all that was ever pushed to it, or to its ancestors before it was
 * made, until it is collected: a branch that was deleted takes nothing back.
 */

/** Whether a ref, by its name in full, is for the server's own eyes. */
export function isOwnRef(name: string): boolean {
  return name.startsWith(OWN_REFS)
}

/**
 * Waits for Git to read, and says so where it cannot: SERVER_BUSY, GIT_TIMEOUT,
 * GIT_MEMORY_EXCEEDED; DIFF_TOO_LARGE where a text is made of differences.
 */
export async function reading<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw explained(error)
  }
}

/** Passes on what Git prints, with the failures of `reading`. */
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
 * The commit that a text of a client names: an id in full, whatever else has such a name, a ref in
 * full, a branch, a tag or the beginning of an id, in this order; the default branch when it is
 * empty.
 *
 * @returns its id; undefined when there is none.
 * @throws SERVER_BUSY, GIT_TIMEOUT
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
    // Several objects begin like this: it is the name of none of them.
    if (error instanceof GitError && error.kind === 'AMBIGUOUS') return undefined
    throw error
  }
}

/**
 * The same, for where it has to be there.
 *
 * @throws REF_NOT_FOUND
 */
export async function commitIdOf(
  app: ReposApp,
  repository: Repository,
  text: string,
): Promise<string> {
  const commitId = await findCommitId(app, repository, text)
  if (commitId === undefined) throw notFound('REF_NOT_FOUND', 'ref', text)
  return commitId
}

/** The refusal of something that is not there. */
export function notFound(reason: Reason, what: 'ref' | 'path' | 'sha', text: string): DomainError {
  return new DomainError(reason, { [what]: metadataText(text) })
}

/** @throws OBJECT_NOT_FOUND for what is no object id in full. */
export function checkObjectId(text: string): string {
  if (!isObjectId(text)) throw notFound('OBJECT_NOT_FOUND', 'sha', text)
  return text
}
