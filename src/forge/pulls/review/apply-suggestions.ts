import { followLines } from '../../../platform/git/diffs/hunks.ts'
import { cleanSigner, readCommit } from '../../../platform/git/objects/commits.ts'
import { parseLfsPointer } from '../../../platform/git/objects/lfs-pointers.ts'
import { storeBlob } from '../../../platform/git/objects/object-writes.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { editTree, type TreeEdit } from '../../../platform/git/objects/tree-edits.ts'
import { findEntries, type TreeEntry } from '../../../platform/git/objects/trees.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import { sizeText } from '../../core/sizes.ts'
import { checkWritable } from '../../repositories/access/permissions.ts'
import { gitIdentity, publicIdentity } from '../../repositories/commits/commit-authors.ts'
import { storeServerCommit } from '../../repositories/commits/server-commits.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { mayPush } from '../../repositories/protection/protection-rules.ts'
import { checkRoom } from '../../repositories/quotas/quota-checks.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { mayPushHead, openHeadOf } from '../heads/head-access.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { type OpenPull, openPull, reopenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import type { ReviewComment } from '../schema.ts'
import { followComments } from './comment-lines.ts'
import { findComment, markResolved } from './review-comments.ts'
import type { OpenReview } from './reviews.ts'
import { replaceLines, type Suggestion, suggestionOf } from './suggestions.ts'

/** Maximum number of suggestions in one commit. */
const MAX_SUGGESTIONS = 100

/** Larger files have no suggestions. Comments on their lines are rare. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** As for other commits of the server. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** Trailers at the end of a message (git-interpret-trailers(1)). */
const TRAILERS = /\n\n(?:[A-Za-z0-9-]+: [^\n]*(?:\n|$))+$/

/** The request to apply suggestions. */
export interface SuggestionOrder {
  /** Ids of the comments. */
  readonly comments: readonly number[]
  /** Message of the commit. Empty for the default. */
  readonly message: string
  /** Id of the commit that the head must be. Empty for any. */
  readonly headCommit: string
}

/** A comment with its review and with what the comment proposes. */
interface Proposed {
  readonly open: OpenReview
  readonly comment: ReviewComment
  readonly suggestion: Suggestion
}

/**
 * Applies suggestions of review comments in one commit on the head branch, as a push of the caller.
 * The commit names the authors of the suggestions as co-authors. The threads of the comments are
 * resolved.
 *
 * @returns the id of the commit.
 */
export async function applySuggestions(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  order: SuggestionOrder,
): Promise<string> {
  const message = checkedMessage(order.message)
  const ids = [...new Set(order.comments)]
  if (ids.length === 0 || ids.length > MAX_SUGGESTIONS)
    throw new DomainError('INVALID_FIELD', { field: 'comments', max: String(MAX_SUGGESTIONS) })
  const open = await openPull(app, caller, name, 'take part')
  return withPullLock(app, open.pull.id, async () =>
    applyLocked(app, caller, await reopenPull(app, open), { ...order, comments: ids, message }),
  )
}

function checkedMessage(given: string): string {
  const message = given.replaceAll('\r\n', '\n').replaceAll('\0', '').trim()
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES)
    throw new DomainError('INVALID_FIELD', {
      field: 'message',
      max_bytes: String(MAX_MESSAGE_BYTES),
    })
  return message
}

async function applyLocked(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  { comments, message, headCommit }: SuggestionOrder,
): Promise<string> {
  const { pull } = open
  if (pull.state !== 'OPEN') throw new DomainError('SUGGESTION_ON_CLOSED_PULL')
  const head = await openHeadOf(app, caller, open, denied)
  if (!(await mayPushHead(app, caller, head, pull.head_branch, mayPush))) throw denied()
  checkWritable(head.repository)
  const { id } = head.repository
  const ref = `refs/heads/${pull.head_branch}`
  const from = await readRef(app.git, id, ref)
  if (from === undefined) throw denied()
  const isExpected = headCommit === '' || headCommit.toLowerCase() === from
  if (!isExpected || from !== (await prepareHead(app, pull)))
    throw new DomainError('HEAD_COMMIT_DIFFERS')
  const proposed = await findSuggestions(app, caller, open, comments)
  await checkRoom(app, caller, id)
  const treeId = await storeTree(app, id, from, proposed)
  const self = gitIdentity(app, caller)
  const to = await storeServerCommit(app, id, {
    treeId,
    parentIds: [from],
    author: self,
    committer: self,
    message: await creditAuthors(app, caller, proposed, message || defaultMessage(proposed)),
  })
  await pushUpdates(app, caller, id, [{ name: ref, from, to }])
  await resolve(app, caller, proposed)
  return to
}

function denied(): DomainError {
  return new DomainError('SUGGESTION_DENIED')
}

function outdated(comment: number): DomainError {
  return new DomainError('SUGGESTION_OUTDATED', { comment: String(comment) })
}

/** Returns the suggestions of comments for the present head. */
async function findSuggestions(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  ids: readonly number[],
): Promise<Proposed[]> {
  const found = []
  for (const id of ids) found.push(await findComment(app, caller, open, id))
  const comments = await followComments(
    app,
    open,
    found.map(({ comment }) => comment),
  )
  const proposed: Proposed[] = []
  for (const [i, { review }] of found.entries()) {
    const comment = comments[i]
    const suggestion = comment && suggestionOf(comment)
    if (!suggestion || review.state === 'PENDING')
      throw new DomainError('SUGGESTION_MISSING', { comment: String(ids[i]) })
    if (comment.commit_id !== open.pull.head_commit) throw outdated(comment.id)
    if (!(await isUnchanged(app, open, comment, suggestion))) throw outdated(comment.id)
    proposed.push({ open: { ...open, review }, comment, suggestion })
  }
  return proposed
}

/**
 * Returns whether the lines around the commented one are those of the commit on which the comment was
 * written. The commented line itself has been followed.
 */
async function isUnchanged(
  app: ReposApp,
  { repository, pull }: OpenPull,
  { path, original_commit_id }: ReviewComment,
  { from, to }: Suggestion,
): Promise<boolean> {
  if (from === to || original_commit_id === pull.head_commit) return true
  const [now, before] = [
    await fileAt(app, repository.id, pull.head_commit, path),
    await fileAt(app, repository.id, original_commit_id, path),
  ]
  if (!now || !before) return false
  const pair = { oldMode: now.mode, oldId: now.id, newMode: before.mode, newId: before.id }
  const lines = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const [places] = await reading(followLines(app.git, repository.id, [{ pair, lines }]))
  const first = places?.get(from)
  return first !== undefined && lines.every((line, i) => places?.get(line) === first + i)
}

async function fileAt(
  app: ReposApp,
  repositoryId: number,
  commitId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  const entries = commit && (await findEntries(app.git, repositoryId, commit.treeId, [path]))
  const entry = entries?.get(path)
  return entry?.kind === 'file' ? entry : undefined
}

/** Stores the changed files, and returns the id of the tree that has them. */
async function storeTree(
  app: ReposApp,
  repositoryId: number,
  head: string,
  proposed: readonly Proposed[],
): Promise<string> {
  const edits: TreeEdit[] = []
  for (const [path, wanted] of byPath(proposed)) {
    checkApart(wanted)
    const [{ comment } = { comment: { id: 0 } }] = wanted
    const entry = await fileAt(app, repositoryId, head, path)
    const file =
      entry && (await reading(readObject(app.git, repositoryId, entry.id, MAX_FILE_BYTES)))
    if (!entry || !file || file.bytes > MAX_FILE_BYTES) throw outdated(comment.id)
    const suggestions = wanted.map(({ suggestion }) => suggestion)
    const content = replaceLines(file.content, suggestions)
    if (!content || content.equals(file.content)) throw outdated(comment.id)
    // The object of a changed pointer of Git LFS would be missing.
    if (parseLfsPointer(content))
      throw new DomainError('SUGGESTION_MISSING', { comment: String(comment.id) })
    checkSize(app, content)
    const blobId = await storeBlob(app.git, repositoryId, content)
    edits.push({ path, file: { blobId, mode: entry.mode } })
  }
  const commit = await readCommit(app.git, repositoryId, head)
  if (!commit) throw denied()
  return editTree(app.git, repositoryId, commit.treeId, edits)
}

function byPath(proposed: readonly Proposed[]): ReadonlyMap<string, readonly Proposed[]> {
  const files = new Map<string, Proposed[]>()
  for (const one of proposed)
    files.set(one.comment.path, [...(files.get(one.comment.path) ?? []), one])
  return files
}

/** Checks that suggestions for a file have no common lines. */
function checkApart(proposed: readonly Proposed[]): void {
  let last = 0
  for (const { comment, suggestion } of proposed.toSorted(
    (a, b) => a.suggestion.from - b.suggestion.from,
  )) {
    if (suggestion.from <= last)
      throw new DomainError('SUGGESTIONS_OVERLAP', { comment: String(comment.id) })
    last = suggestion.to
  }
}

function checkSize({ settings: { maxFileBytes } }: ReposApp, content: Buffer): void {
  if (maxFileBytes !== undefined && content.length > maxFileBytes)
    throw new DomainError('FILE_OVER_LIMIT', {
      size: sizeText(content.length),
      limit: sizeText(maxFileBytes),
    })
}

function defaultMessage(proposed: readonly Proposed[]): string {
  const [first] = proposed
  return proposed.length === 1
    ? `Apply suggestion to ${first?.comment.path}`
    : `Apply ${proposed.length} suggestions`
}

/** Adds the authors of the suggestions to a message, each once and without the caller. */
async function creditAuthors(
  app: ReposApp,
  caller: SignedIn,
  proposed: readonly Proposed[],
  message: string,
): Promise<string> {
  const ids = proposed.flatMap(({ comment }) => comment.poster_id ?? [])
  const others = [...new Set(ids)].filter((id) => id !== caller.user.id)
  const users = await findUsersByIds(app.db, others)
  const trailers = others.flatMap((id) => {
    const user = users.get(id)
    if (!user) return []
    const { name, email } = cleanSigner(publicIdentity(app, user))
    return `Co-authored-by: ${name} <${email}>\n`
  })
  if (trailers.length === 0) return `${message}\n`
  return `${message}\n${TRAILERS.test(`${message}\n`) ? '' : '\n'}${trailers.join('')}`
}

/** Resolves the threads. The commit is pushed, so a failure does not matter to the caller. */
async function resolve(
  app: ReposApp,
  caller: SignedIn,
  proposed: readonly Proposed[],
): Promise<void> {
  for (const { open, comment } of proposed)
    await markResolved(app, caller, open, comment.id, true).catch((err: unknown) =>
      app.log.error({ err, comment: comment.id }, 'an applied suggestion was not resolved'),
    )
}
