import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { diffTrees } from '../../../platform/git/diffs/diff.ts'
import { type FollowedFile, followLines } from '../../../platform/git/diffs/hunks.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import {
  findEntries,
  findEntry,
  type TreeEntry,
  treePath,
} from '../../../platform/git/objects/trees.ts'
import { checkCommentText } from '../../conversations/issue-comments.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import type { ReviewComment } from '../schema.ts'
import { type HunkFinder, hunkFinder } from './diff-hunks.ts'
import { isAvailable } from './review-states.ts'
import type { ReviewedCommit } from './reviewed-commits.ts'
import { findReviewById, insertReviewComment, moveReviewComment } from './reviews.rows.ts'

/** Maximum number of comments of a review. */
const MAX_COMMENTS = 1_000

/** Maximum number of comments in one request. Each may need a diff of two commits. */
const MAX_COMMENTS_AT_A_TIME = 100

/** Time limit for all of these diffs. */
const MAX_PLACING_MS = 30_000

/** In larger files, only lines within hunks are checked, because counting lines takes too long. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** A comment on a line, as the caller requests it. */
export interface CommentDraft {
  readonly path: string
  readonly body: string
  /** Line of the file in the commit, from 1. 0 if not set. */
  readonly newLine: number
  /** Line of the file in the merge base, from 1. 0 if not set. Takes precedence over `newLine`. */
  readonly oldLine: number
}

/** A comment and its position. */
export type PlacedComment = Pick<
  ReviewComment,
  'path' | 'side' | 'line' | 'commit_id' | 'original_commit_id' | 'diff_hunk' | 'body'
>

/**
 * Finds the positions of comments on a commit of a pull request. As in compatible systems, a
 * comment may be on any line of any file. A line outside all hunks has no hunk to show.
 *
 * @param drafts Comments without a line are about the whole file.
 */
export async function placeComments(
  app: ReposApp,
  repositoryId: number,
  commit: ReviewedCommit,
  drafts: readonly CommentDraft[],
): Promise<PlacedComment[]> {
  if (drafts.length > MAX_COMMENTS_AT_A_TIME) throw tooMany(MAX_COMMENTS_AT_A_TIME)
  for (const { body } of drafts) checkCommentText('body', body)
  const deadline = performance.now() + MAX_PLACING_MS
  const { id: head, mergeBase: base } = commit
  const hunks = base ? hunkFinder(app, repositoryId, { base, head }) : undefined
  const placed: PlacedComment[] = []
  for (const draft of drafts) {
    if (performance.now() > deadline) throw new DomainError('GIT_TIMEOUT')
    placed.push(await placeComment(app, repositoryId, commit, hunks, draft))
  }
  return placed
}

function tooMany(limit: number): DomainError {
  return new DomainError('TOO_MANY_REVIEW_COMMENTS', { limit: String(limit) })
}

async function placeComment(
  app: ReposApp,
  repositoryId: number,
  { id, mergeBase }: ReviewedCommit,
  hunks: HunkFinder | undefined,
  draft: CommentDraft,
): Promise<PlacedComment> {
  const side = draft.oldLine > 0 ? 'old' : 'new'
  const line = side === 'old' ? draft.oldLine : draft.newLine
  const unfit = new DomainError('INVALID_REVIEW_LINE', {
    path: metadataText(draft.path),
    side,
    line: String(line),
  })
  const path = treePath(draft.path)
  if (!path || !Number.isSafeInteger(line) || line < 0) throw unfit
  const placed = {
    path,
    side,
    line,
    commit_id: id,
    original_commit_id: id,
    body: draft.body,
  } as const
  const hunk = line > 0 ? await hunks?.find(path, { side, line }) : undefined
  if (hunk !== undefined) return { ...placed, diff_hunk: hunk }
  const entry = await fileAt(app, repositoryId, side === 'new' ? id : mergeBase, path)
  // A deleted file can be commented on, too.
  const isThere =
    line > 0
      ? entry && (await hasLine(app, repositoryId, entry, line))
      : (entry ?? (await fileAt(app, repositoryId, mergeBase, path)))
  if (!isThere) throw unfit
  return { ...placed, diff_hunk: '' }
}

async function fileAt(
  app: ReposApp,
  repositoryId: number,
  commitId: string | undefined,
  path: string,
): Promise<TreeEntry | undefined> {
  const commit = commitId ? await readCommit(app.git, repositoryId, commitId) : undefined
  const entry = commit && (await findEntry(app.git, repositoryId, commit.treeId, path))
  return entry?.kind === 'dir' ? undefined : entry
}

async function hasLine(
  app: ReposApp,
  repositoryId: number,
  { id, kind }: TreeEntry,
  line: number,
): Promise<boolean> {
  if (kind === 'submodule') return line === 1
  const file = await reading(readObject(app.git, repositoryId, id, MAX_FILE_BYTES))
  return file !== undefined && file.bytes <= MAX_FILE_BYTES && line <= countLines(file.content)
}

/** Text after the last line feed is a line, unless it is empty. */
function countLines(content: Buffer): number {
  let lines = 0
  for (let end = content.indexOf('\n'); end >= 0; end = content.indexOf('\n', end + 1)) lines += 1
  return content.at(-1) === LINE_FEED || content.length === 0 ? lines : lines + 1
}

const LINE_FEED = 0x0a

/**
 * Adds comments to a review.
 *
 * @returns the new comments, in the same order.
 */
export async function insertComments(
  tx: Tx,
  { user }: SignedIn,
  reviewId: number,
  comments: readonly PlacedComment[],
  now: number,
): Promise<ReviewComment[]> {
  const review = await findReviewById(tx, reviewId)
  if (!review) throw new DomainError('REVIEW_NOT_FOUND')
  if (review.comments_count + comments.length > MAX_COMMENTS) throw tooMany(MAX_COMMENTS)
  const inserted: ReviewComment[] = []
  for (const comment of comments) {
    const times = { create_time: now, update_time: now }
    const row = { ...comment, ...times, review_id: reviewId, poster_id: user.id, resolver_id: null }
    inserted.push(await insertReviewComment(tx, row))
  }
  return inserted
}

/**
 * Maximum number of files to examine in one call. Comments on further files keep their positions.
 */
const MAX_FILES = 100

/**
 * Maximum number of commits whose diff to the head is searched for renames. Each search may read
 * files.
 */
const MAX_RENAME_LOOKS = 5

/** Maximum number of files in such a diff. */
const MAX_RENAMED = 10_000

/** The position of a comment. */
interface Place {
  readonly path: string
  readonly line: number
}

/** A commented file of a commit. */
interface CommentedFile {
  readonly commitId: string
  readonly path: string
  readonly comments: ReviewComment[]
}

/**
 * Returns comments with their lines in the present head of an open pull request, and stores these
 * lines. A comment follows a renamed file. A comment on a changed line keeps its last known line.
 * So do comments on the base and comments on a whole file.
 */
export async function followComments(
  app: ReposApp,
  { pull, repository }: OpenPull,
  comments: readonly ReviewComment[],
): Promise<ReviewComment[]> {
  const isBehind = ({ side, line, commit_id }: ReviewComment) =>
    side === 'new' && line > 0 && commit_id !== pull.head_commit
  const files = pull.state === 'OPEN' ? byFile(comments.filter(isBehind)).slice(0, MAX_FILES) : []
  if (files.length === 0 || !(await isAvailable(app, pull))) return [...comments]
  const head = pull.head_commit
  const places = await findPlaces(app, repository.id, files, head)
  const moved = comments.flatMap((comment) => {
    const place = places.get(comment.id)
    return place === undefined ? [] : [{ ...comment, ...place, commit_id: head }]
  })
  if (moved.length === 0) return [...comments]
  await transaction(app.db, async (tx) => {
    for (const { id, path, line } of moved)
      await moveReviewComment(tx, id, { path, line, commit_id: head })
  })
  const byId = new Map(moved.map((comment) => [comment.id, comment]))
  return comments.map((comment) => byId.get(comment.id) ?? comment)
}

function byFile(comments: readonly ReviewComment[]): CommentedFile[] {
  const files = new Map<string, CommentedFile>()
  for (const comment of comments) {
    const { commit_id: commitId, path } = comment
    const key = `${commitId} ${path}`
    const file = files.get(key) ?? { commitId, path, comments: [] }
    file.comments.push(comment)
    files.set(key, file)
  }
  return [...files.values()]
}

/**
 * Returns the present positions of comments, by the ids of the comments. Comments whose line no
 * longer exists are left out.
 */
async function findPlaces(
  app: ReposApp,
  repositoryId: number,
  files: readonly CommentedFile[],
  head: string,
): Promise<ReadonlyMap<number, Place>> {
  const moves = await findMoves(app, repositoryId, files, head)
  const pathNow = ({ commitId, path }: CommentedFile) => moves.get(commitId)?.get(path) ?? path
  const present = await entriesAt(app, repositoryId, head, files.map(pathNow))
  const followed: { readonly file: CommentedFile; readonly now: FollowedFile }[] = []
  for (const file of files) {
    const before = (await entriesAt(app, repositoryId, file.commitId, [file.path])).get(file.path)
    const after = present.get(pathNow(file))
    if (before?.kind !== 'file' || after?.kind !== 'file') continue
    const pair = { oldMode: before.mode, oldId: before.id, newMode: after.mode, newId: after.id }
    followed.push({ file, now: { pair, lines: file.comments.map(({ line }) => line) } })
  }
  const lines = await reading(
    followLines(
      app.git,
      repositoryId,
      followed.map(({ now }) => now),
    ),
  )
  const places = new Map<number, Place>()
  for (const [i, { file }] of followed.entries()) {
    for (const { id, line } of file.comments) {
      const found = lines[i]?.get(line)
      if (found !== undefined) places.set(id, { path: pathNow(file), line: found })
    }
  }
  return places
}

/**
 * Finds renames of files that no longer exist in the head under their old paths. Returns, for each
 * commit, the new paths by the old paths.
 */
async function findMoves(
  app: ReposApp,
  repositoryId: number,
  files: readonly CommentedFile[],
  head: string,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const present = await entriesAt(
    app,
    repositoryId,
    head,
    files.map(({ path }) => path),
  )
  const commits = new Set(
    files.flatMap(({ commitId, path }) => (present.has(path) ? [] : commitId)),
  )
  const moves = new Map<string, ReadonlyMap<string, string>>()
  for (const commitId of [...commits].slice(0, MAX_RENAME_LOOKS)) {
    // Git may have collected the commit after a force push.
    if (!(await readCommit(app.git, repositoryId, commitId))) continue
    const window = { offset: 0, limit: MAX_RENAMED }
    const diff = await reading(
      diffTrees(app.git, repositoryId, commitId, head, { lines: false, window }),
    )
    const renamed = diff.files.flatMap(({ kind, path, oldPath }): [string, string][] =>
      kind === 'renamed' && oldPath !== undefined ? [[oldPath, path]] : [],
    )
    moves.set(commitId, new Map(renamed))
  }
  return moves
}

async function entriesAt(
  app: ReposApp,
  repositoryId: number,
  commitId: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  return commit ? findEntries(app.git, repositoryId, commit.treeId, paths) : new Map()
}
