import { type Merge, mergeToCommit } from '../../../platform/git/merging/merge.ts'
import { mergeChanges } from '../../../platform/git/merging/merge-from.ts'
import { MAX_REBASED_COMMITS, rebaseCommits } from '../../../platform/git/merging/rebase.ts'
import { contentOfCommit, type NewCommit } from '../../../platform/git/objects/object-writes.ts'
import type { Signer } from '../../../platform/git/objects/signers.ts'
import { DomainError, metadataList } from '../../core/errors.ts'
import type { MergeStyle } from '../../core/schema.ts'
import { reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { commitSigner, storeServerCommit } from './server-commits.ts'

/** Limits of the description of a conflict, since gRPC clients limit the size of metadata. */
const MAX_PATHS_BYTES = 1024
const MAX_TEXT_CHARACTERS = 1000

/** Two commits to merge. */
interface MergeOrder {
  readonly ours: string
  readonly theirs: string
  /** The merge base, in place of the one that the histories have. An ancestor of `theirs`. */
  readonly base?: string | undefined
  /** The merge style for the error. */
  readonly style: MergeStyle
}

/**
 * Merges two commits, and stores a commit of the resulting tree. The instance signs the commit if signing
 * is enabled.
 *
 * @returns the id of the commit.
 * @throws MERGE_CONFLICT
 */
export async function storeMerge(
  app: ReposApp,
  repositoryId: number,
  { ours, theirs, base, style }: MergeOrder,
  commit: Omit<NewCommit, 'treeId'>,
): Promise<string> {
  const conflicting = (merge: Exclude<Merge, { outcome: 'clean' }>) =>
    new DomainError('MERGE_CONFLICT', { style, ...conflictOf(merge) })
  if (base !== undefined) {
    const merge = await reading(mergeChanges(app.git, repositoryId, { base, ours, theirs }))
    if (merge.outcome !== 'clean') throw conflicting(merge)
    return storeServerCommit(app, repositoryId, { ...commit, treeId: merge.treeId })
  }
  const contentOf = (treeId: string) => contentOfCommit({ ...commit, treeId }, commitSigner(app))
  const merge = await reading(mergeToCommit(app.git, repositoryId, { ours, theirs }, contentOf))
  if (merge.outcome !== 'clean') throw conflicting(merge)
  return merge.commitId
}

/** Commits to rebase. */
interface RebaseOrder {
  /** The new base. */
  readonly onto: string
  /** The last commit. Commits that `onto` contains are left out. */
  readonly head: string
  /** Commits that this one contains are left out, too. */
  readonly upstream?: string
  readonly committer: Signer
  /** The merge style for the error. */
  readonly style: MergeStyle
  /** Replaces the message of the last commit. */
  readonly lastMessage?: string
}

/**
 * Rebases commits onto another commit, as `git rebase` does, and stores them. The instance signs
 * them if signing is enabled.
 *
 * @returns the id of the last commit: `onto` if no commit is left, `head` if nothing has to change.
 * @throws REBASE_CONFLICT
 */
export async function rebaseOnto(
  app: ReposApp,
  repositoryId: number,
  { onto, head, upstream, committer, style, lastMessage }: RebaseOrder,
): Promise<string> {
  const rebase = { onto, head, upstream, committer, lastMessage, sign: commitSigner(app) }
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
