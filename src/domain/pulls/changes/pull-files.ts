import { type ChangedFile, diffTrees } from '../../../git/diffs/diff.ts'
import { countLines, type IgnoredWhitespace } from '../../../git/diffs/pair-diffs.ts'
import type { Caller } from '../../core/access.ts'
import type { Page, PullName } from '../../core/names.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { type OpenPull, openPull } from '../access/open-pulls.ts'
import { rangeOf } from './pull-ranges.ts'

/** What a pull request does with a file, in the words of compatible systems. */
export type FileStatus = 'added' | 'deleted' | 'renamed' | 'copied' | 'unchanged' | 'changed'

/** A file that a pull request changes. */
export interface PullFile {
  /** Where it is; where it was, if it is deleted. */
  readonly path: string
  /** Where it was, if it was renamed. */
  readonly oldPath: string | undefined
  readonly status: FileStatus
  /** Lines, of those that are looked at. */
  readonly additions: number
  readonly deletions: number
}

/** A part of the list of the files of a pull request. */
export interface PullFilePage {
  readonly open: OpenPull
  /** Id of the commit at its head. */
  readonly head: string
  readonly files: readonly PullFile[]
  /** How many files the whole pull request changes. */
  readonly total: number
}

/** Which files to list, and what of them counts. */
export interface PullFileQuery {
  /**
   * Path of the file to begin with; the first one when empty. There are none behind one that is not
   * in the list.
   */
  readonly skipTo: string
  readonly ignoredWhitespace: IgnoredWhitespace | undefined
}

/**
 * A page of the files that a pull request changes, by path.
 *
 * Names and origins are those of the whole, and lines are counted of the files of the page only, as
 * far as `diffMaxLines` of each.
 *
 * @throws as `openPull` and `rangeOf`; SERVER_BUSY, GIT_TIMEOUT
 */
export async function listPullFiles(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  { skipTo, ignoredWhitespace }: PullFileQuery,
  page: Page,
): Promise<PullFilePage> {
  const open = await openPull(app, caller, name, 'read')
  const { base, head } = await rangeOf(app, open)
  const { id } = open.repository
  const window = { from: skipTo === '' ? undefined : skipTo, ...page }
  const diff = await reading(diffTrees(app.git, id, base, head, { lines: false, window }))
  const maxLines = app.settings.diffMaxLines
  const counts = await reading(countLines(app.git, id, diff.files, { ignoredWhitespace, maxLines }))
  const files = diff.files.map(({ kind, path, oldPath }, index) => {
    const { additions = 0, deletions = 0, differs = false } = counts[index] ?? {}
    const origin = kind === 'renamed' ? oldPath : undefined
    return { path, oldPath: origin, status: statusOf(kind, differs), additions, deletions }
  })
  return { open, head, files, total: diff.totalFiles }
}

/** What has no line that differs has another mode, or is binary. */
function statusOf(kind: ChangedFile['kind'], differs: boolean): FileStatus {
  if (kind !== 'modified') return kind
  return differs ? 'changed' : 'unchanged'
}
