import { rm } from 'node:fs/promises'
import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { commitContent } from '../objects/commit-content.ts'
import { readCommit } from '../objects/commits.ts'
import { storeLooseObject } from '../objects/loose-objects.ts'
import { type Repositories, scratchPath } from '../repositories/repositories.ts'
import { Merges, type RelatedMerge } from './merge.ts'

/** A merge whose merge base is given. */
interface MergeFrom {
  /** The commit that becomes the merge base: an ancestor of `theirs`. */
  readonly base: string
  /** Id of the tree of our side. */
  readonly ours: string
  /** Id of a commit. */
  readonly theirs: string
}

/**
 * Merges the changes between two commits into the tree of a third one, whatever the histories say.
 *
 * @param base, ours, theirs full ids of commits. The changes are those from `base` to `theirs`.
 * @throws GitError BUSY, TIMEOUT; NOT_FOUND when `ours` names no commit
 */
export async function mergeChanges(
  repositories: Repositories,
  id: number,
  { base, ours, theirs }: MergeFrom,
): Promise<RelatedMerge> {
  if (![base, ours, theirs].every(isObjectId)) throw new Error(`no ids: ${base} ${ours} ${theirs}`)
  const commit = await readCommit(repositories, id, ours)
  if (!commit) throw new GitError('NOT_FOUND', `there is no commit ${ours}`)
  const scratch = scratchPath(repositories)
  const merges = new Merges(repositories, id, { quarantine: scratch })
  try {
    return await mergeFrom(merges, scratch, { base, ours: commit.treeId, theirs })
  } finally {
    await merges.end()
    await rm(scratch, { recursive: true, force: true })
  }
}

/**
 * Merges into a tree. The base must become the merge base, but Git 2.39 has no `--merge-base`. The tree
 * therefore gets a temporary commit with this parent.
 *
 * @param scratch the quarantine of the merges.
 */
export async function mergeFrom(
  merges: Merges,
  scratch: string,
  { base, ours, theirs }: MergeFrom,
): Promise<RelatedMerge> {
  return merges.merge({ id: await storeTemporary(scratch, ours, [base]), treeId: ours }, theirs)
}

/** Signer of temporary commits. The time is in the far future, so Git reads only their parent. */
const TEMPORARY = 'Nobody <nobody> 4102444800 +0000'

/** Stores a temporary commit in a folder. @returns its id. */
export function storeTemporary(
  scratch: string,
  treeId: string,
  parentIds: readonly string[],
): Promise<string> {
  const content = commitContent({
    treeId,
    parentIds,
    author: TEMPORARY,
    committer: TEMPORARY,
    message: '',
  })
  return storeLooseObject(scratch, 'commit', Buffer.from(content))
}
