import { type CommitRange, diffTrees } from '../../git/diff.ts'
import { findHunk, type LinePlace } from '../../git/hunks.ts'
import { changeTheSame } from '../../git/same-changes.ts'
import type { App } from '../app.ts'
import { reading } from '../repos/git-reading.ts'

/**
 * The end of the hunk that leads to a line of a file that a range of commits changes: what a comment on the line is shown under.
 *
 * @param mergeBase, head ids of commits of the repository.
 * @param path where the file is; where it was, if it is deleted.
 * @param side of the line: the file as it was, or as it is.
 * @param line from 1.
 * @returns undefined when no hunk has the line: when it is too far from all that has changed, or the file is binary, or has not changed.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function hunkAt(
  app: App,
  repositoryId: number,
  mergeBase: string,
  head: string,
  path: string,
  side: LinePlace['side'],
  line: number,
): Promise<string | undefined> {
  const options = { lines: false, window: { from: path, offset: 0, limit: 1 } }
  const [file] = (await reading(diffTrees(app.git, repositoryId, mergeBase, head, options))).files
  const maxCharacters = app.settings.diffMaxLineCharacters
  return file && reading(findHunk(app.git, repositoryId, file, { side, line }, maxCharacters))
}

/**
 * Whether two ranges of commits change the same, as before and after a rebase, or a merge of what others have done.
 *
 * @param before, after of which the latter has taken the place of the former; their bases are merge bases.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export function sameChanges(app: App, repositoryId: number, before: CommitRange, after: CommitRange): Promise<boolean> {
  return reading(changeTheSame(app.git, repositoryId, before, after))
}
