import {
  type CommitRange,
  countChanges as countIn,
  diffTrees,
} from '../../../platform/git/diffs/diff.ts'
import type { ChangedFile } from '../../../platform/git/diffs/diff-reader.ts'
import { countLines, type IgnoredWhitespace } from '../../../platform/git/diffs/pair-diffs.ts'
import { streamDiff, streamPatch } from '../../../platform/git/diffs/patches.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName, Page } from '../../core/names.ts'
import type { DiffFormat } from '../../repositories/commits/commits.ts'
import { reading, readingStream } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById, storeCounts } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'

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

/**
 * Returns the commits of a pull request: from its merge base to its head, both in the base
 * repository. The merge base is stored in the row of a merged pull request, of a closed one without
 * its base, and of one whose base was replaced by another history.
 *
 * @throws PULL_BASE_INVALID; REF_NOT_FOUND when the head is lost; SERVER_BUSY, GIT_TIMEOUT
 */
export async function rangeOf(app: ReposApp, open: OpenPull): Promise<CommitRange> {
  const head = await prepareHead(app, open.pull)
  const base = open.pull.state === 'MERGED' ? open.pull.merge_base : await findBase(app, open, head)
  if (!base) throw new DomainError('PULL_BASE_INVALID')
  return { base, head }
}

async function findBase(
  app: ReposApp,
  { repository, pull }: OpenPull,
  head: string,
): Promise<string | undefined> {
  const branch = await readBranch(app, repository, pull.base_branch)
  const base =
    branch && (await reading(findMergeBase(app.git, repository.id, branch.commit_id, head)))
  if (base === undefined && (branch || pull.state === 'CLOSED')) return keptBase(app, pull, head)
  if (base !== head) return base
  // The base contains the whole head. A merge may have come between reading the row and reading the
  // branch. Reading the branch records it.
  const latest = await findPullRequestById(app.db, pull.id)
  return latest?.state === 'MERGED' ? latest.merge_base : base
}

/** Returns the merge base that was recorded before the base was deleted or replaced. */
async function keptBase(
  app: ReposApp,
  pull: PullRequest,
  head: string,
): Promise<string | undefined> {
  const { repository_id: id, merge_base: kept } = pull
  // The stored merge base may belong to a former head.
  if (kept === '' || !(await readCommit(app.git, id, kept))) return undefined
  return reading(findMergeBase(app.git, id, kept, head))
}

/**
 * Counts the changes of a range of commits. Undefined when that takes too long. The result is
 * cached.
 *
 * @param mergeBase, head ids of commits of the repository.
 * @throws SERVER_BUSY
 */
async function countChanges(
  app: ReposApp,
  repositoryId: number,
  mergeBase: string,
  head: string,
): Promise<PullCounts | undefined> {
  const counts = await reading(countIn(app.git, repositoryId, mergeBase, head))
  return (
    counts && {
      additions: counts.additions,
      deletions: counts.deletions,
      changedFiles: counts.totalFiles,
    }
  )
}

/** The numbers of changes of a pull request. */
export interface PullCounts {
  /** Lines. */
  readonly additions: number
  readonly deletions: number
  readonly changedFiles: number
}

/**
 * Counts the changes of a pull request. Its row stores the numbers and the commits between which
 * they were counted.
 *
 * @returns undefined when counting takes too long or fails, for example because commits are lost.
 *   The pull request is shown in any case.
 */
export async function countPull(app: ReposApp, open: OpenPull): Promise<PullCounts | undefined> {
  const { pull } = open
  try {
    const { base, head } = await rangeOf(app, open)
    if (pull.counted_base === base && pull.counted_head === head) return countsIn(pull)
    const counts = await countChanges(app, open.repository.id, base, head)
    if (counts) {
      const { additions, deletions, changedFiles: changed_files } = counts
      const columns = {
        counted_base: base,
        counted_head: head,
        additions,
        deletions,
        changed_files,
      }
      await storeCounts(app.db, pull.id, columns)
    }
    return counts
  } catch (err) {
    if (!(err instanceof DomainError))
      app.log.error({ err, pullRequest: pull.id }, 'a pull request could not be counted')
    // Without a base, the numbers of the last count apply.
    return pull.counted_head === pull.head_commit ? countsIn(pull) : undefined
  }
}

function countsIn({ additions, deletions, changed_files }: OpenPull['pull']): PullCounts {
  return { additions, deletions, changedFiles: changed_files }
}
