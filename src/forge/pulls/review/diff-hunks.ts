import { type CommitRange, diffTrees } from '../../../platform/git/diffs/diff.ts'
import type { FilePair } from '../../../platform/git/diffs/diff-reader.ts'
import { findHunk, type LinePlace } from '../../../platform/git/diffs/hunks.ts'
import { changeTheSame, hasChangesOf } from '../../../platform/git/merging/same-changes.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'

/** Finds the end of the hunk up to a commented line, to show above the comment. */
export interface HunkFinder {
  /**
   * @param path the present path, or the former path of a deleted file.
   * @returns undefined if no hunk contains the line: the line is far from all changes, or the file
   *   is binary or unchanged.
   */
  find(path: string, place: LinePlace): Promise<string | undefined>
}

/**
 * Creates a finder for the files that a range of commits changes. The finder reads each file once.
 *
 * @param range ids of commits in the repository.
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
 * Returns whether two ranges of commits make the same change, such as before and after a rebase.
 *
 * @param before, after the former and the present range. Their bases are merge bases.
 */
export function sameChanges(
  app: ReposApp,
  repositoryId: number,
  before: CommitRange,
  after: CommitRange,
): Promise<boolean> {
  return reading(changeTheSame(app.git, repositoryId, before, after))
}

/**
 * Returns whether a branch has all changes of a commit, maybe by other commits, such as after a squash:
 * a merge would change nothing.
 */
export function hasAllOf(
  app: ReposApp,
  repositoryId: number,
  tip: string,
  commit: string,
): Promise<boolean> {
  return reading(hasChangesOf(app.git, repositoryId, tip, commit))
}
