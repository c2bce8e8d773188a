import { type Merge, mergeCommits } from '../../../git/merging/merge.ts'
import { MAX_REBASED_COMMITS, rebaseCommits } from '../../../git/merging/rebase.ts'
import type { Signer } from '../../../git/objects/signers.ts'
import { DomainError, metadataList } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { reading } from '../reading/git-reading.ts'
import type { MergeStyle } from './merge-styles.ts'
import { commitSigner } from './server-commits.ts'

/** Told of what is in conflict: clients of gRPC take no longer metadata. */
const MAX_PATHS_BYTES = 1024
const MAX_TEXT_CHARACTERS = 1000

/**
 * The tree that has what two commits of a repository have, by Git's verdict. It is stored.
 *
 * @param style how the two are to be joined, for who is told that they cannot be.
 * @returns its id.
 * @throws MERGE_CONFLICT, SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergeTrees(
  app: ReposApp,
  repositoryId: number,
  ours: string,
  theirs: string,
  style: MergeStyle,
): Promise<string> {
  const merge = await reading(mergeCommits(app.git, repositoryId, ours, theirs))
  if (merge.outcome === 'clean') return merge.treeId
  throw new DomainError('MERGE_CONFLICT', { style, ...conflictOf(merge) })
}

/** Commits of a repository that are to follow another one. */
export interface RebaseOrder {
  /** The commit that they are to follow. */
  readonly onto: string
  /** The last of them; those that `onto` has are none of them. */
  readonly head: string
  readonly committer: Signer
  /** How they are to be joined, for who is told that they cannot be. */
  readonly style: MergeStyle
  /** In place of what the last of them says. */
  readonly lastMessage?: string
}

/**
 * Makes commits anew on top of another one, as `git rebase` does, signed by the instance unless it
 * does not sign. They are stored.
 *
 * @returns the id of the last one: `onto` when nothing is left to be made, `head` when all is in
 *   place already.
 * @throws REBASE_CONFLICT, TOO_MANY_COMMITS_TO_REBASE, SERVER_BUSY, GIT_TIMEOUT
 */
export async function rebaseOnto(
  app: ReposApp,
  repositoryId: number,
  { onto, head, committer, style, lastMessage }: RebaseOrder,
): Promise<string> {
  const rebase = { onto, head, committer, lastMessage, sign: commitSigner(app) }
  const rebased = await reading(rebaseCommits(app.git, repositoryId, rebase))
  if (rebased.outcome === 'clean') return rebased.commitId
  if (rebased.outcome === 'too-many') {
    throw new DomainError('TOO_MANY_COMMITS_TO_REBASE', { limit: String(MAX_REBASED_COMMITS) })
  }
  throw new DomainError('REBASE_CONFLICT', {
    style,
    commit_sha: rebased.commitId,
    ...conflictOf(rebased),
  })
}

function conflictOf(merge: Exclude<Merge, { outcome: 'clean' }>): { paths: string; text: string } {
  if (merge.outcome === 'unrelated')
    return { paths: '[]', text: 'refusing to merge unrelated histories' }
  return {
    paths: metadataList(merge.paths, MAX_PATHS_BYTES),
    text: merge.text.slice(0, MAX_TEXT_CHARACTERS),
  }
}
