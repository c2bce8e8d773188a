import type { FilePair } from '../../../git/diffs/diff.ts'
import { type CommitRange, diffTrees } from '../../../git/diffs/diff.ts'
import { findHunk, type LinePlace } from '../../../git/diffs/hunks.ts'
import { changeTheSame } from '../../../git/merging/same-changes.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'

/**
 * Finds the end of the hunk that leads to a line of a file: what a comment on the line is shown
 * under.
 */
export interface HunkFinder {
  /**
   * @param path where the file is; where it was, if it is deleted.
   * @returns undefined when no hunk has the line: when it is too far from all that has changed, or
   *   the file is binary, or has not changed.
   * @throws SERVER_BUSY, GIT_TIMEOUT
   */
  find(path: string, place: LinePlace): Promise<string | undefined>
}

/**
 * What finds hunks of files that a range of commits changes, each of which it looks for once.
 *
 * @param range ids of commits of the repository.
 */
export function hunkFinder(
  app: ReposApp,
  repositoryId: number,
  { base, head }: CommitRange,
): HunkFinder {
  const changes = new Map<string, FilePair | undefined>()
  const maxCharacters = app.settings.diffMaxLineCharacters
  return {
    async find(path, place) {
      if (!changes.has(path)) {
        const options = { lines: false, window: { from: path, offset: 0, limit: 1 } }
        changes.set(
          path,
          (await reading(diffTrees(app.git, repositoryId, base, head, options))).files[0],
        )
      }
      const file = changes.get(path)
      return file && reading(findHunk(app.git, repositoryId, file, place, maxCharacters))
    },
  }
}

/**
 * Whether two ranges of commits change the same, as before and after a rebase, or a merge of what
 * others have done.
 *
 * @param before, after of which the latter has taken the place of the former; their bases are merge
 *   bases.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export function sameChanges(
  app: ReposApp,
  repositoryId: number,
  before: CommitRange,
  after: CommitRange,
): Promise<boolean> {
  return reading(changeTheSame(app.git, repositoryId, before, after))
}
