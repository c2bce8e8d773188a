import { isObjectId } from '../../../git/core/object-ids.ts'
import { findMergeBase } from '../../../git/history/history.ts'
import { independentCommits } from '../../../git/history/independent-commits.ts'
import { readCommit } from '../../../git/objects/commits.ts'
import { readRef } from '../../../git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { checkSame, recordMerge } from './merge-attempts.ts'
import { checkManualMerges } from './merge-checks.ts'
import type { HeadDeletion } from './merge-order.ts'

/**
 * Marks a pull request as merged, as somebody says it is, by a commit that its base branch leads
 * to. Nothing moves.
 *
 * @param commitId in full.
 * @param deletion what becomes of the head branch.
 * @throws MERGE_STYLE_NOT_ALLOWED, WRONG_MERGE_COMMIT; what `checkSame` throws; SERVER_BUSY,
 *   GIT_TIMEOUT
 */
export async function mergeManually(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  commitId: string,
  deletion: HeadDeletion,
): Promise<void> {
  checkManualMerges(open.repository)
  const { pull, repository } = open
  const merge_commit = commitId.trim().toLowerCase()
  if (!isObjectId(merge_commit) || !(await isOnBase(app, open, merge_commit))) {
    throw new DomainError('WRONG_MERGE_COMMIT')
  }
  const head_commit = await prepareHead(app, pull)
  const merge_base = await baseBefore(
    app,
    repository.id,
    pull.merge_base,
    head_commit,
    merge_commit,
  )
  const [merger_id, time] = [caller.user.id, nowSeconds(app.clock)]
  await changeWatched(app, async (tx) => {
    await checkSame(tx, pull)
    const commits = { base_commit: null, merge_base, head_commit, merge_commit }
    await recordMerge(app, tx, pull.id, { merger_id, ...commits, time, ...deletion })
  })
}

async function isOnBase(
  app: ReposApp,
  { repository, pull }: OpenPull,
  commitId: string,
): Promise<boolean> {
  const { id } = repository
  const tip = await readRef(app.git, id, `refs/heads/${pull.base_branch}`)
  if (tip === undefined || !(await readCommit(app.git, id, commitId))) return false
  if (tip === commitId) return true
  return !(await reading(independentCommits(app.git, id, [tip, commitId]))).has(commitId)
}

/**
 * Where the head left the base before it was merged: what is known of that, unless it was found out
 * afterwards.
 */
async function baseBefore(
  app: ReposApp,
  repositoryId: number,
  known: string,
  head: string,
  mergeCommit: string,
): Promise<string> {
  if (known !== '' && known !== head) return known
  const parent = (await readCommit(app.git, repositoryId, mergeCommit))?.parentIds[0]
  return (parent && (await reading(findMergeBase(app.git, repositoryId, parent, head)))) ?? known
}
