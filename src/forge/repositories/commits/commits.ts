import { EMPTY_TREE } from '../../../platform/git/core/object-ids.ts'
import type { TreeDiff } from '../../../platform/git/diffs/diff-reader.ts'
import { diffCommits, streamDiff, streamPatch } from '../../../platform/git/diffs/patches.ts'
import { findMergeBase, readCommits } from '../../../platform/git/history/history.ts'
import { type History, readHistory } from '../../../platform/git/history/history-pages.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import { treePath } from '../../../platform/git/objects/trees.ts'
import { isRevision } from '../../../platform/git/refs/refs.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type Page, type RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository, openRepositoryById } from '../access/permissions.ts'
import { findRelated } from '../content/fork-networks.ts'
import {
  commitIdOf,
  findCommitId,
  notFound,
  reading,
  readingStream,
} from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { findAuthors } from './commit-authors.ts'
import { type Verification, verifyObjects } from './commit-verification.ts'

/** The parts of a commit to read, beside the commit itself. */
export interface CommitParts {
  /** The numbers of added and deleted lines. */
  readonly stat: boolean
  /** The verification of its signature. */
  readonly verification: boolean
  /** The changed files. */
  readonly files: boolean
}

/** A commit with the related records. */
export interface CommitView {
  readonly open: OpenRepository
  readonly commit: RawCommit
  /** The accounts with the addresses of author and committer. */
  readonly author: Owner | undefined
  readonly committer: Owner | undefined
  /** The changes against the first parent, if files or lines are requested. */
  readonly changes: TreeDiff | undefined
  readonly verification: Verification | undefined
}

/** A page of a list. */
export interface CommitPage {
  readonly commits: readonly CommitView[]
  /** The number of commits on all pages. */
  readonly total: number
}

/** A query for commits. */
interface CommitQuery {
  /** The revision to start from; empty for the default branch. */
  readonly ref: string
  /** Excludes the history of this revision; empty to exclude nothing. */
  readonly not: string
  /** Only commits that change this path; empty for all. */
  readonly path: string
  /** Unix seconds. */
  readonly since: number | undefined
  readonly until: number | undefined
}

/**
 * The number of files shown of a commit. Commits with more files are usually imports or mass
 * changes.
 */
const MAX_FILES = 300

/** Longest commit that is shown completely. */
const MAX_COMMIT_BYTES = 256 * 1024

/**
 * Bytes of the commits of one page that are shown completely. After that, a commit of more than 8 KiB
 * loses its end: the end of its message, or all but its first hundred parents. An answer is longer
 * than its commits, since each parent has two addresses.
 */
const MAX_PAGE_BYTES = 512 * 1024

/** Returns a page of the history of a commit, newest first. */
export async function listCommits(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  query: CommitQuery,
  { parts, page }: CommitPageQuery,
): Promise<CommitPage> {
  const open = await openRepository(app, caller, name, 'read')
  const path = treePath(query.path)
  if (path === undefined) throw notFound('PATH_NOT_FOUND', 'path', query.path)
  const { since, until } = query
  const without = query.not === '' ? undefined : await commitIdOf(app, open.repository, query.not)
  const from = await startOf(app, open, query.ref)
  return readPage(app, caller, open, { from, without, path, since, until }, { parts, page })
}

/** The parts of commits to read, and the page. */
interface CommitPageQuery {
  readonly parts: CommitParts
  readonly page: Page
}

/** Returns a page of a history. */
export async function readPage(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  history: History,
  { parts, page }: CommitPageQuery,
): Promise<CommitPage> {
  const { id } = open.repository
  const { ids, total } = await reading(readHistory(app.git, id, history, page.offset, page.limit))
  return { commits: await viewCommits(app, caller, open, ids, parts), total }
}

async function startOf(
  app: ReposApp,
  { repository }: OpenRepository,
  ref: string,
): Promise<string> {
  const commitId = await findCommitId(app, repository, ref)
  if (commitId !== undefined) return commitId
  throw notFound(repository.branch_count === 0 ? 'REPOSITORY_EMPTY' : 'REF_NOT_FOUND', 'ref', ref)
}

/** Returns the views of commits by their ids, in that order. */
export async function viewCommits(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  ids: readonly string[],
  parts: CommitParts,
): Promise<CommitView[]> {
  const read = await reading(
    readCommits(app.git, open.repository.id, ids, MAX_COMMIT_BYTES, {
      maxBytesTogether: MAX_PAGE_BYTES,
    }),
  )
  const commits = ids.flatMap((commitId) => read.get(commitId) ?? [])
  return viewReadCommits(app, caller, open, commits, parts)
}

/** Returns the views of commits that have already been read. */
export async function viewReadCommits(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  commits: readonly RawCommit[],
  parts: CommitParts,
): Promise<CommitView[]> {
  const { id } = open.repository
  const steps = commits.map((commit) => ({ id: commit.id, parentId: commit.parentIds[0] }))
  const options = { lines: parts.stat, window: { offset: 0, limit: parts.files ? MAX_FILES : 0 } }
  const wantsChanges = parts.stat || parts.files
  const changes = wantsChanges ? await reading(diffCommits(app.git, id, steps, options)) : undefined
  const emails = commits.flatMap(({ author, committer }) => [author.email, committer.email])
  const authors = await findAuthors(app, caller, emails)
  const verifications = parts.verification ? await verifyObjects(app, caller, commits) : []
  return commits.map((commit, index) => ({
    open,
    commit,
    author: authors.get(commit.author.email),
    committer: authors.get(commit.committer.email),
    changes: changes?.get(commit.id),
    verification: verifications[index],
  }))
}

/** Returns one commit by id, branch or tag. */
export async function getCommit(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ref: string,
  parts: CommitParts,
): Promise<CommitView> {
  const open = await openRepository(app, caller, name, 'read')
  const commitId = await existingCommit(app, open, ref)
  const [view] = await viewCommits(app, caller, open, [commitId], parts)
  if (!view) throw notFound('COMMIT_NOT_FOUND', 'ref', ref)
  return view
}

/** A diff against the first parent, or a patch in the form of an e-mail. */
export type DiffFormat = 'diff' | 'patch'

/** Returns the changes of a commit as text. */
export async function getCommitDiff(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ref: string,
  format: DiffFormat,
): Promise<AsyncIterable<Buffer>> {
  const open = await openRepository(app, caller, name, 'read')
  const { id } = open.repository
  const commitId = await existingCommit(app, open, ref)
  const parent = (await reading(readCommits(app.git, id, [commitId]))).get(commitId)?.parentIds[0]
  return readingStream(
    format === 'diff'
      ? streamDiff(app.git, id, parent ?? EMPTY_TREE, commitId, { binary: false })
      : streamPatch(app.git, id, parent, commitId),
  )
}

async function existingCommit(
  app: ReposApp,
  { repository }: OpenRepository,
  ref: string,
): Promise<string> {
  if (!isRevision(ref)) throw notFound('INVALID_REF', 'ref', ref)
  const commitId = await findCommitId(app, repository, ref)
  if (commitId === undefined) throw notFound('COMMIT_NOT_FOUND', 'ref', ref)
  return commitId
}

/** The head of a comparison, which may be in another repository. */
interface ComparedRef {
  /** Owner of the repository; empty for the requested repository. */
  readonly owner: string
  /**
   * Empty for the requested repository or, with an owner, for the owner's repository of the same
   * network: its fork, its parent or another one.
   */
  readonly repository: string
  /** Name of a branch or tag, or id of a commit; empty for the default branch. */
  readonly ref: string
}

interface Comparison {
  /**
   * Name of a branch or tag of the requested repository, or id of a commit; empty for the default
   * branch.
   */
  readonly base: string
  readonly head: ComparedRef
}

/**
 * Parses `base...head`, `base..head` (equivalent for a list of commits) or `head`. Ref names
 * contain neither two dots nor colons (git-check-ref-format(1)). The head may be `owner:ref` or
 * `owner/repository:ref`.
 */
export function parseComparison(text: string): Comparison {
  const dots = /\.\.\.?/.exec(text)
  const base = dots ? text.slice(0, dots.index) : ''
  const head = dots ? text.slice(dots.index + dots[0].length) : text
  const colon = head.indexOf(':')
  const [owner = '', repository = ''] = colon < 0 ? [] : head.slice(0, colon).split('/')
  return { base, head: { owner, repository, ref: head.slice(colon + 1) } }
}

/**
 * Returns a page of the commits of the head that the base does not contain, newest first.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED; REF_NOT_FOUND, also for a
 *   head in a repository that the caller may not read; SERVER_BUSY, GIT_TIMEOUT
 */
export async function compareCommits(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { base, head }: Comparison,
  { parts, page }: CommitPageQuery,
): Promise<CommitPage> {
  const { other, from, without, withoutIn } = await openSides(app, caller, name, { base, head })
  const history = { from, without, ...(withoutIn !== undefined && { withoutIn }) }
  return readPage(app, caller, other, history, { parts, page })
}

/**
 * Returns what the head changes since its merge base with the base, as text: a diff for
 * git-apply(1), or mails for git-am(1). Without a common history, everything in the head is new.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED; REF_NOT_FOUND, also for a
 *   head in a repository that the caller may not read; SERVER_BUSY, GIT_TIMEOUT; DIFF_TOO_LARGE
 *   while reading
 */
export async function getComparisonDiff(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  comparison: Comparison,
  format: DiffFormat,
): Promise<AsyncIterable<Buffer>> {
  const { other, from, without, withoutIn } = await openSides(app, caller, name, comparison)
  const { id } = other.repository
  const base = await reading(findMergeBase(app.git, id, without, from, withoutIn))
  // The repository of the head has the merge base, which is an ancestor of the head.
  return readingStream(
    format === 'diff'
      ? streamDiff(app.git, id, base ?? EMPTY_TREE, from, { binary: false })
      : streamPatch(app.git, id, base, from),
  )
}

/** The commits of a comparison. */
interface Sides {
  /** The repository of the head. */
  readonly other: OpenRepository
  /** Id of the commit of the head. */
  readonly from: string
  /** Id of the commit of the base. */
  readonly without: string
  /** Id of the repository of the base, when the head is in another one. */
  readonly withoutIn: number | undefined
}

async function openSides(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { base, head }: Comparison,
): Promise<Sides> {
  const open = await openRepository(app, caller, name, 'read')
  const without = await commitIdOf(app, open.repository, base)
  const other = await openHead(app, caller, open, head)
  const from = await commitIdOf(app, other.repository, head.ref)
  const isElsewhere = other.repository.id !== open.repository.id
  return { other, from, without, withoutIn: isElsewhere ? open.repository.id : undefined }
}

/** @throws REF_NOT_FOUND for any failure, so that the existence of a repository is not disclosed */
async function openHead(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  { owner, repository, ref }: ComparedRef,
): Promise<OpenRepository> {
  if (owner === '' || (nameKey(owner) === nameKey(open.owner.name) && repository === ''))
    return open
  try {
    if (repository !== '')
      return await openRepository(app, caller, { owner, repo: repository }, 'read')
    const named = await findOwnerByNameKey(app.db, nameKey(owner))
    const id = named && (await findRelated(app.db, open.repository, named.id))
    if (id !== undefined) return await openRepositoryById(app, caller, id, 'read')
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
  }
  throw notFound('REF_NOT_FOUND', 'ref', `${owner}:${ref}`)
}
