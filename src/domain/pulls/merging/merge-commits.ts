import { readCommit } from '../../../git/objects/commits.ts'
import type { Signer } from '../../../git/objects/signers.ts'
import type { MergeStyle } from '../../../storage/schema/repos.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { gitIdentity } from '../../repos/reading/git-identity.ts'
import { mergeTrees, rebaseOnto } from '../../repos/writing/merging.ts'
import { storeServerCommit } from '../../repos/writing/server-commits.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { giveCredit, mergeMessage, type WantedMessage } from './merge-messages.ts'
import type { MergeTips } from './readiness.ts'

/** How to merge, and what the commit says. */
export interface MergePlan {
  readonly style: MergeStyle
  readonly wanted: WantedMessage
}

/**
 * Makes the commits that a merge takes, and stores them. No ref leads to them.
 *
 * @param caller who is to have committed them.
 * @returns the id of the commit that the base branch is to hold: what it holds already, where a
 *   rebase leaves nothing.
 * @throws MERGE_CONFLICT, FAST_FORWARD_IMPOSSIBLE, REBASE_CONFLICT, TOO_MANY_COMMITS_TO_REBASE,
 *   SERVER_BUSY, GIT_TIMEOUT
 */
export async function makeMerge(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  tips: MergeTips,
  { style, wanted }: MergePlan,
): Promise<string> {
  const { base, head, mergeBase } = tips
  const { id } = open.repository
  if (mergeBase === '') {
    throw new DomainError('MERGE_CONFLICT', {
      style,
      paths: '[]',
      text: 'refusing to merge unrelated histories',
    })
  }
  if (style === 'fast-forward-only') {
    if (mergeBase !== base) throw new DomainError('MERGE_FAST_FORWARD_IMPOSSIBLE', { style })
    return head
  }
  const committer = gitIdentity(app, caller)
  const message = await mergeMessage(app, open, style, head, wanted)
  if (style === 'rebase') {
    const lastMessage = message === undefined ? {} : { lastMessage: message }
    return rebaseOnto(app, id, { onto: base, head, committer, style, ...lastMessage })
  }
  if (message === undefined) throw new Error(`a commit by ${style} has no message`)
  if (style === 'rebase-merge') {
    const tip = await rebaseOnto(app, id, { onto: base, head, committer, style })
    return tip === base ? base : joinTree(app, id, { base, tip, committer, message })
  }
  // What goes on from the base needs no merge.
  const treeId =
    mergeBase === base ? await treeOf(app, id, head) : await mergeTrees(app, id, base, head, style)
  if (style === 'merge') {
    return storeServerCommit(app, id, {
      treeId,
      parentIds: [base, head],
      author: committer,
      committer,
      message,
    })
  }
  const text = await giveCredit(app, caller, open, { committer, range: tips, message })
  return storeServerCommit(app, id, { treeId, parentIds: [base], committer, ...text })
}

/** Joins a branch to one that it begins with. */
async function joinTree(
  app: ReposApp,
  repositoryId: number,
  join: {
    readonly base: string
    readonly tip: string
    readonly committer: Signer
    readonly message: string
  },
): Promise<string> {
  const { base, tip, committer, message } = join
  const treeId = await treeOf(app, repositoryId, tip)
  return storeServerCommit(app, repositoryId, {
    treeId,
    parentIds: [base, tip],
    author: committer,
    committer,
    message,
  })
}

async function treeOf(app: ReposApp, repositoryId: number, commitId: string): Promise<string> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  if (!commit) throw new Error(`there is no commit ${commitId}`)
  return commit.treeId
}
