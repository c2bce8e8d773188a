import { findOwnerByNameKey } from '../../../storage/accounts/owners.ts'
import { findForkOf } from '../../../storage/repos/forks.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository, openRepositoryById } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { CommitPageQuery } from './commits.ts'
import { type CommitPage, readPage } from './commits.ts'
import { commitIdOf, notFound } from './git-reading.ts'

/** One side of a comparison, maybe in another repository. */
export interface ComparedRef {
  /** Whose repository; empty for the one that is asked. */
  readonly owner: string
  /**
   * Empty for the one that is asked, or one that the owner has in common with it: its fork, its
   * parent, a fork of that.
   */
  readonly repository: string
  /** Name of a branch or tag, or id of a commit; the default branch when empty. */
  readonly ref: string
}

export interface Comparison {
  /**
   * Name of a branch or tag of the repository that is asked, or id of a commit; the default branch
   * when empty.
   */
  readonly base: string
  readonly head: ComparedRef
}

/**
 * Reads `base...head`, `base..head` (which mean the same where commits are listed) or `head`. Names
 * of refs have no two dots and no colons (git-check-ref-format(1)). The head may be `owner:ref` or
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
 * The commits that the head has and the base has not, newest first.
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
  const open = await openRepository(app, caller, name, 'read')
  const without = await commitIdOf(app, open.repository, base)
  const other = await openHead(app, caller, open, head)
  const from = await commitIdOf(app, other.repository, head.ref)
  const isElsewhere = other.repository.id !== open.repository.id
  const history = { from, without, ...(isElsewhere && { withoutIn: open.repository.id }) }
  return readPage(app, caller, other, history, { parts, page })
}

/**
 * @throws REF_NOT_FOUND, whatever is wrong: whether there is such a repository is nothing to tell.
 */
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
    const id = await findRelated(app, open, owner)
    if (id !== undefined) return await openRepositoryById(app, caller, id, 'read')
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
  }
  throw notFound('REF_NOT_FOUND', 'ref', `${owner}:${ref}`)
}

/** The repository of an owner that shares its history with another one. */
async function findRelated(
  app: ReposApp,
  { repository }: OpenRepository,
  ownerName: string,
): Promise<number | undefined> {
  const owner = await findOwnerByNameKey(app.db, nameKey(ownerName))
  if (!owner) return undefined
  const { id, parent_id: parentId } = repository
  const fork = await findForkOf(app.db, owner.id, id)
  if (fork || parentId === null) return fork?.id
  const parent = await findRepositoryById(app.db, parentId)
  return parent?.owner_id === owner.id
    ? parent.id
    : (await findForkOf(app.db, owner.id, parentId))?.id
}
