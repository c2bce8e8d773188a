import { transaction } from '../../../platform/database/database.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { findEntries, type TreeEntry, treePath } from '../../../platform/git/objects/trees.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { reviewedCommit } from './reviewed-commits.ts'
import * as rows from './viewed-files.rows.ts'

/** Marks of a user on a pull request. */
const MAX_MARKS = 3000

/** Files in one call. */
const MAX_PATHS = 300

/** A file that a user has viewed. */
interface ViewedFileView {
  readonly path: string
  /** Whether the head has another content than the user has seen. */
  readonly isChanged: boolean
}

/** Returns the files of a pull request that the caller has viewed, by path. */
export async function listViewedFiles(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<ViewedFileView[]> {
  const open = await openPull(app, caller, name, 'read')
  const marks = await rows.listViewedFiles(app.db, viewerOf(caller, open))
  if (marks.length === 0) return []
  const head = await prepareHead(app, open.pull)
  const entries = await entriesAt(
    app,
    open,
    head,
    marks.map(({ path }) => path),
  )
  return marks.map(({ path, version }) => ({
    path,
    isChanged: versionOf(entries.get(path)) !== version,
  }))
}

/**
 * Marks files as viewed by the caller.
 *
 * @param commit id of the commit that the caller has seen. Empty for the head.
 */
export async function markFilesViewed(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  texts: readonly string[],
  commit: string,
): Promise<void> {
  const paths = checkPaths(texts)
  const open = await openPull(app, caller, name, 'read')
  const { id, mergeBase } = await reviewedCommit(app, open.pull, commit)
  const present = await entriesAt(app, open, id, paths)
  const isFile = (entry: TreeEntry | undefined) => entry !== undefined && entry.kind !== 'dir'
  const gone = paths.filter((path) => !isFile(present.get(path)))
  const before =
    gone.length > 0 && mergeBase ? await entriesAt(app, open, mergeBase, gone) : undefined
  const lost = gone.find((path) => !isFile(before?.get(path)))
  if (lost !== undefined) throw new DomainError('PATH_NOT_FOUND', { path: metadataText(lost) })
  const viewer = viewerOf(caller, open)
  const marks = paths.map((path) => ({ path, version: versionOf(present.get(path)) }))
  await transaction(app.db, async (tx) => {
    await rows.putViewedFiles(tx, viewer, marks)
    if ((await rows.countViewedFiles(tx, viewer)) > MAX_MARKS)
      throw new DomainError('TOO_MANY_VIEWED_FILES', { limit: String(MAX_MARKS) })
  })
}

/** Removes the marks of the caller from files. Has no effect on files without a mark. */
export async function unmarkFilesViewed(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  texts: readonly string[],
): Promise<void> {
  const paths = checkPaths(texts)
  const open = await openPull(app, caller, name, 'read')
  await transaction(app.db, (tx) => rows.deleteViewedFiles(tx, viewerOf(caller, open), paths))
}

function viewerOf({ user }: SignedIn, { pull }: OpenPull): rows.FileViewer {
  return { pull_request_id: pull.id, user_id: user.id }
}

function checkPaths(texts: readonly string[]): string[] {
  if (texts.length === 0 || texts.length > MAX_PATHS)
    throw new DomainError('INVALID_FIELD', { field: 'paths', max: String(MAX_PATHS) })
  const paths = texts.map((text) => {
    const path = treePath(text)
    if (!path) throw new DomainError('PATH_NOT_FOUND', { path: metadataText(text) })
    return path
  })
  return [...new Set(paths)]
}

async function entriesAt(
  app: ReposApp,
  { repository }: OpenPull,
  commitId: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const commit = await readCommit(app.git, repository.id, commitId)
  return commit ? findEntries(app.git, repository.id, commit.treeId, paths) : new Map()
}

/** A folder in the place of a deleted file is no version of the file. */
function versionOf(entry: TreeEntry | undefined): string {
  return entry && entry.kind !== 'dir' ? `${entry.mode.toString(8)} ${entry.id}` : ''
}
