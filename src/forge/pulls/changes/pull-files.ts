import { diffTrees } from '../../../platform/git/diffs/diff.ts'
import type { ChangedFile } from '../../../platform/git/diffs/diff-reader.ts'
import { countLines, type IgnoredWhitespace } from '../../../platform/git/diffs/pair-diffs.ts'
import { streamDiff, streamPatch } from '../../../platform/git/diffs/patches.ts'
import type { Caller } from '../../core/access.ts'
import type { ConversationName, Page } from '../../core/names.ts'
import type { DiffFormat } from '../../repositories/commits/commits.ts'
import { reading, readingStream } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { rangeOf } from './pull-ranges.ts'

/** The change of a file, in the words of compatible systems. */
type FileStatus = 'added' | 'deleted' | 'renamed' | 'copied' | 'unchanged' | 'changed'

/** A file that a pull request changes. */
export interface PullFile {
  /** The present path, or the former path of a deleted file. */
  readonly path: string
  /** The former path of a renamed file. */
  readonly oldPath: string | undefined
  readonly status: FileStatus
  /** Counted up to the limit of lines. */
  readonly additions: number
  readonly deletions: number
}

/** A page of the files of a pull request. */
export interface PullFilePage {
  readonly open: OpenPull
  /** Id of the head commit. */
  readonly head: string
  readonly files: readonly PullFile[]
  /** Number of files that the whole pull request changes. */
  readonly total: number
}

/** The files to list, and how to count their lines. */
export interface PullFileQuery {
  /** Path of the first file. Empty means the first one. An unknown path means an empty list. */
  readonly skipTo: string
  readonly ignoredWhitespace: IgnoredWhitespace | undefined
}

/**
 * Lists a page of the files that a pull request changes, by path.
 *
 * Renames are detected over the whole pull request. Lines are counted for the files of the page
 * only, up to `diffMaxLines` in each.
 *
 * @throws as `openPull` and `rangeOf`; SERVER_BUSY, GIT_TIMEOUT
 */
export async function listPullFiles(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
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

/** A file without changed lines is binary or has a new mode. */
function statusOf(kind: ChangedFile['kind'], differs: boolean): FileStatus {
  if (kind !== 'modified') return kind
  return differs ? 'changed' : 'unchanged'
}

/**
 * Returns the changes of a pull request as text: a diff for git-apply(1), or mails for git-am(1).
 *
 * @param binary whether the diff contains binary files. Mails always contain them.
 * @throws as `openPull` and `rangeOf`; while reading SERVER_BUSY, GIT_TIMEOUT, DIFF_TOO_LARGE
 */
export async function getPullDiff(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  format: DiffFormat,
  binary: boolean,
): Promise<AsyncIterable<Buffer>> {
  const open = await openPull(app, caller, name, 'read')
  const { base, head } = await rangeOf(app, open)
  const { id } = open.repository
  return readingStream(
    format === 'diff'
      ? streamDiff(app.git, id, base, head, { binary })
      : streamPatch(app.git, id, base, head),
  )
}
