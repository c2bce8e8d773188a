import { readCommit } from '../../../git/objects/commits.ts'
import { readObject } from '../../../git/objects/objects.ts'
import { findEntry, type TreeEntry, treePath } from '../../../git/objects/trees.ts'
import { insertReviewComment } from '../../../storage/pulls/review-comments.ts'
import { findReviewById } from '../../../storage/pulls/reviews.ts'
import type { ReviewComment } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { checkLength } from '../../accounts/users/user-fields.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { type HunkFinder, hunkFinder } from './diff-hunks.ts'
import type { ReviewedCommit } from './reviewed-commits.ts'

/** Longest text of a review or a comment, as elsewhere on the web. */
export const MAX_TEXT_CHARACTERS = 65_536

/** Far more than anybody reads of one review. */
const MAX_COMMENTS = 1_000

/** Comments that come at a time. Each may take a look at what lies between two commits. */
const MAX_COMMENTS_AT_A_TIME = 100

/** What all of these looks may take. */
const MAX_PLACING_MS = 30_000

/**
 * In larger files lines that are in no hunk are not looked for: counting takes a while, and people
 * read shorter ones.
 */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** What somebody wants to say about a line. */
export interface CommentDraft {
  readonly path: string
  readonly body: string
  /** From 1; 0 for none, as is the next one. Of the file as the commit has it. */
  readonly newLine: number
  /** Of the file as it was where the commit left the base. Goes before the other one. */
  readonly oldLine: number
}

/** A comment, and where it belongs. */
export type PlacedComment = Pick<
  ReviewComment,
  'path' | 'side' | 'line' | 'commit_id' | 'original_commit_id' | 'diff_hunk' | 'body'
>

/**
 * Finds the lines that comments on a commit of a pull request are about. As in compatible systems
 * that may be any line of any file; one that is in no hunk of the difference is shown without one.
 *
 * @param drafts without a line they are about the whole file.
 * @throws INVALID_FIELD, INVALID_REVIEW_LINE, TOO_MANY_REVIEW_COMMENTS, SERVER_BUSY, GIT_TIMEOUT
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

/** @throws INVALID_FIELD for a text that says nothing, or too much. */
export function checkCommentText(field: string, text: string): void {
  if (text.trim() === '') throw new DomainError('INVALID_FIELD', { field })
  checkLength(field, text, MAX_TEXT_CHARACTERS)
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
  // Of a file that is deleted there is something to say, too.
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

/** What follows the last line feed is a line too, unless it is empty. */
function countLines(content: Buffer): number {
  let lines = 0
  for (let end = content.indexOf('\n'); end >= 0; end = content.indexOf('\n', end + 1)) lines += 1
  return content.at(-1) === LINE_FEED || content.length === 0 ? lines : lines + 1
}

const LINE_FEED = 0x0a

/**
 * Adds comments to a review.
 *
 * @returns them, in their order.
 * @throws REVIEW_NOT_FOUND when it is gone; TOO_MANY_REVIEW_COMMENTS
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
