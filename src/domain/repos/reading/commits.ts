import { EMPTY_TREE } from '../../../git/core/object-ids.ts'
import { diffCommits, type TreeDiff } from '../../../git/diffs/diff.ts'
import { streamDiff, streamPatch } from '../../../git/diffs/patches.ts'
import {
  countHistory,
  type History,
  listHistory,
  readCommits,
} from '../../../git/history/history.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import { treePath } from '../../../git/objects/trees.ts'
import { isRevision } from '../../../git/refs/refs.ts'
import type { Owner } from '../../../storage/schema/accounts.ts'
import type { Caller } from '../../core/access.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { findAuthors } from './commit-authors.ts'
import { type Verification, verifyObjects } from './commit-verification.ts'
import { commitIdOf, findCommitId, notFound, reading, readingStream } from './git-reading.ts'

/** Which parts of a commit to read, beside what it says itself. */
export interface CommitParts {
  /** The numbers of lines that it changes. */
  readonly stat: boolean
  /** What is known about its signature. */
  readonly verification: boolean
  /** The files that it changes. */
  readonly files: boolean
}

/** A commit with what the forge knows about it. */
export interface CommitView {
  readonly open: OpenRepository
  readonly commit: RawCommit
  /** The accounts that own the addresses. */
  readonly author: Owner | undefined
  readonly committer: Owner | undefined
  /** Against the first parent, if files or lines were asked for. */
  readonly changes: TreeDiff | undefined
  readonly verification: Verification | undefined
}

/** A part of a list. */
export interface CommitPage {
  readonly commits: readonly CommitView[]
  /** How many the whole list has. */
  readonly total: number
}

/** Which commits to list. */
export interface CommitQuery {
  /** Where to begin; the default branch when empty. */
  readonly ref: string
  /** Leaves out what leads to this one; nothing when empty. */
  readonly not: string
  /** Only those that change this; all when empty. */
  readonly path: string
  /** Unix seconds. */
  readonly since: number | undefined
  readonly until: number | undefined
}

/**
 * Files shown of a commit. One that changes more is an import, or a change of some rule for all of
 * them.
 */
const MAX_FILES = 300

/**
 * A page of the commits that lead to a commit, newest first.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_EMPTY,
 *   REF_NOT_FOUND, PATH_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
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
export interface CommitPageQuery {
  readonly parts: CommitParts
  readonly page: Page
}

/** Some commits of a history of a repository, and how many it has. */
export async function readPage(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  history: History,
  { parts, page }: CommitPageQuery,
): Promise<CommitPage> {
  const { id } = open.repository
  const [ids, total] = await Promise.all([
    reading(listHistory(app.git, id, history, page.offset, page.limit)),
    reading(countHistory(app.git, id, history)),
  ])
  return { commits: await viewCommits(app, caller, open, ids, parts), total }
}

/** @throws REPOSITORY_EMPTY, REF_NOT_FOUND */
async function startOf(
  app: ReposApp,
  { repository }: OpenRepository,
  ref: string,
): Promise<string> {
  const commitId = await findCommitId(app, repository, ref)
  if (commitId !== undefined) return commitId
  throw notFound(repository.branch_count === 0 ? 'REPOSITORY_EMPTY' : 'REF_NOT_FOUND', 'ref', ref)
}

/**
 * Commits of a repository by their ids, in that order: those of a page of whatever list.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function viewCommits(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  ids: readonly string[],
  parts: CommitParts,
): Promise<CommitView[]> {
  const read = await reading(readCommits(app.git, open.repository.id, ids))
  const commits = ids.flatMap((commitId) => read.get(commitId) ?? [])
  return viewReadCommits(app, caller, open, commits, parts)
}

/** The same for commits that have been read already. */
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

/**
 * One commit, by id or by name.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, INVALID_REF,
 *   COMMIT_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
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

/** As text: a difference against the first parent, or a mail. */
export type DiffFormat = 'diff' | 'patch'

/**
 * What a commit changes, as text.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, INVALID_REF,
 *   COMMIT_NOT_FOUND; while it is read SERVER_BUSY, GIT_TIMEOUT, DIFF_TOO_LARGE
 */
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

/** @throws INVALID_REF, COMMIT_NOT_FOUND */
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
