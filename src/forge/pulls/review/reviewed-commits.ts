import { isObjectId } from '../../../platform/git/core/object-ids.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { inspectObject } from '../../../platform/git/objects/objects.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import type { PullRequest } from '../schema.ts'
import { mergeBaseOf } from './review-states.ts'

/** The commit that a review is about. */
export interface ReviewedCommit {
  readonly id: string
  /**
   * The merge base with the base branch. Undefined if the base is deleted or has no common history.
   */
  readonly mergeBase: string | undefined
}

/**
 * Finds the commit of a pull request that a reviewer names: its head or another commit that it
 * would merge.
 *
 * @param text a full id. Empty for the head.
 */
export async function reviewedCommit(
  app: ReposApp,
  pull: PullRequest,
  text: string,
): Promise<ReviewedCommit> {
  const head = await prepareHead(app, pull)
  const id = text === '' ? head : text.toLowerCase()
  if (id !== head && !(await isCommitBehind(app, pull, id, head))) throw unknownCommit(text)
  const mergeBase = pull.state === 'MERGED' ? pull.merge_base : await mergeBaseOf(app, pull, id)
  const isOfBase =
    mergeBase !== undefined && (id === mergeBase || (await leadsTo(app, pull, id, mergeBase)))
  if (id !== head && isOfBase) throw unknownCommit(text)
  return { id, mergeBase }
}

function unknownCommit(text: string): DomainError {
  return new DomainError('REVIEW_COMMIT_UNKNOWN', { sha: metadataText(text) })
}

async function isCommitBehind(
  app: ReposApp,
  pull: PullRequest,
  id: string,
  head: string,
): Promise<boolean> {
  const found = isObjectId(id)
    ? await reading(inspectObject(app.git, pull.repository_id, id))
    : undefined
  return found?.type === 'commit' && (await leadsTo(app, pull, id, head))
}

/** Returns whether a commit is an ancestor of another commit, or the same. */
async function leadsTo(
  app: ReposApp,
  { repository_id }: PullRequest,
  from: string,
  to: string,
): Promise<boolean> {
  return !(await reading(independentCommits(app.git, repository_id, [from, to]))).has(from)
}
