import { EMPTY_TREE } from '../../../platform/git/core/object-ids.ts'
import { streamDiff, streamPatch } from '../../../platform/git/diffs/patches.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository, openRepositoryById } from '../access/permissions.ts'
import { findRelated } from '../content/fork-networks.ts'
import { commitIdOf, notFound, reading, readingStream } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { type CommitPage, type CommitPageQuery, type DiffFormat, readPage } from './commits.ts'

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
