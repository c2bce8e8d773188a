import { readCommit } from '../../../platform/git/objects/commits.ts'
import { DomainError } from '../../core/errors.ts'
import { gitIdentity } from '../../repositories/commits/commit-authors.ts'
import { rebaseOnto, storeMerge } from '../../repositories/commits/merging.ts'
import { storeServerCommit } from '../../repositories/commits/server-commits.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { CheckedMerge } from './merge-checks.ts'
import { creditAuthors, mergeMessage } from './merge-messages.ts'

/**
 * Creates the commits of a merge. No ref points to them yet. The caller is their committer.
 *
 * @returns the id of the commit to move the base branch to: its present commit if a rebase leaves
 *   nothing.
 */
export async function createMergeCommits(app: ReposApp, merge: CheckedMerge): Promise<string> {
  const { base, head, mergeBase, style, repository, place } = merge
  const { id } = repository
  if (mergeBase === '') {
    const text = 'refusing to merge unrelated histories'
    throw new DomainError('MERGE_CONFLICT', { style, paths: '[]', text })
  }
  if (style === 'fast-forward-only') {
    if (mergeBase !== base) throw new DomainError('MERGE_FAST_FORWARD_IMPOSSIBLE', { style })
    return head
  }
  const committer = gitIdentity(app, merge.caller)
  const message = await mergeMessage(app, merge)
  // The commits of the pull request below are merged, maybe as other commits.
  const upstream = place ? { upstream: place.belowHead } : {}
  if (style === 'rebase') {
    const lastMessage = message === undefined ? {} : { lastMessage: message }
    return rebaseOnto(app, id, { onto: base, head, committer, style, ...upstream, ...lastMessage })
  }
  if (message === undefined) throw new Error(`a commit by ${style} has no message`)
  const own = { author: committer, committer, message }
  if (style === 'rebase-merge') {
    const tip = await rebaseOnto(app, id, { onto: base, head, committer, style, ...upstream })
    if (tip === base) return base
    return storeServerCommit(app, id, {
      treeId: await treeOf(app, id, tip),
      parentIds: [base, tip],
      ...own,
    })
  }
  const parts =
    style === 'merge'
      ? { parentIds: [base, head], ...own }
      : {
          parentIds: [base],
          committer,
          ...(await creditAuthors(app, merge, committer, message)),
        }
  // A head that is a descendant of the base needs no merge.
  if (mergeBase === base)
    return storeServerCommit(app, id, { treeId: await treeOf(app, id, head), ...parts })
  const order = { ours: base, theirs: head, base: place && mergeBase, style }
  return storeMerge(app, id, order, parts)
}

async function treeOf(app: ReposApp, repositoryId: number, commitId: string): Promise<string> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  if (!commit) throw new Error(`there is no commit ${commitId}`)
  return commit.treeId
}
