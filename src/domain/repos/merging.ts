import { type Merge, mergeCommits } from '../../git/merge.ts'
import type { App } from '../app.ts'
import { DomainError, metadataList } from '../errors.ts'
import { reading } from './git-reading.ts'
import type { MergeStyle } from './merge-styles.ts'

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
  app: App,
  repositoryId: number,
  ours: string,
  theirs: string,
  style: MergeStyle,
): Promise<string> {
  const merge = await reading(mergeCommits(app.git, repositoryId, ours, theirs))
  if (merge.outcome === 'clean') return merge.treeId
  throw new DomainError('MERGE_CONFLICT', { style, ...conflictOf(merge) })
}

function conflictOf(merge: Exclude<Merge, { outcome: 'clean' }>): { paths: string; text: string } {
  if (merge.outcome === 'unrelated') return { paths: '[]', text: 'refusing to merge unrelated histories' }
  return { paths: metadataList(merge.paths, MAX_PATHS_BYTES), text: merge.text.slice(0, MAX_TEXT_CHARACTERS) }
}
