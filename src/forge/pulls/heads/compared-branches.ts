import { isRefName } from '../../../platform/git/refs/refs.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import {
  type OpenRepository,
  openRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { areRelated, findRelated } from '../../repositories/content/fork-networks.ts'
import { findCommitId } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import type { Repository } from '../../repositories/schema.ts'

/** The head and the base of a pull request. */
export interface ComparedBranches {
  readonly baseBranch: string
  /** The base repository, or one with the same history. */
  readonly head: OpenRepository
  readonly headBranch: string
}

/** `owner:`, `owner/repository:` or nothing, followed by a name without a colon. */
const HEAD_FORM = /^(?:[^:/]+(?:\/[^:/]+)?:)?[^:]+$/

/**
 * Reads the two branches of a pull request in the form in which a client names them.
 *
 * @param open the base repository.
 */
export async function compareBranches(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  baseBranch: string,
  headText: string,
): Promise<ComparedBranches> {
  if (headText === '') throw new DomainError('INVALID_FIELD', { field: 'head', rule: 'Required' })
  if (baseBranch === '') throw new DomainError('INVALID_FIELD', { field: 'base', rule: 'Required' })
  if (headText === baseBranch) throw new DomainError('PULL_REQUEST_WITHOUT_CHANGES')
  checkForm(baseBranch, !baseBranch.includes(':'))
  checkForm(headText, HEAD_FORM.test(headText))
  const name = parseHeadName(headText)
  const head = await openHead(app, caller, open, name)
  if (!head || !(await areRelated(app.db, open.repository, head.repository)))
    throw missing(headText)
  const kinds = [
    await kindOf(app, open.repository, baseBranch),
    await kindOf(app, head.repository, name.branch),
  ]
  if (kinds.includes('missing')) throw missing(kinds[0] === 'missing' ? baseBranch : headText)
  if (kinds.includes('other')) throw new DomainError('PULL_REQUEST_NOT_OF_BRANCHES')
  const isSame = head.repository.id === open.repository.id && name.branch === baseBranch
  if (isSame) throw new DomainError('PULL_REQUEST_WITHOUT_CHANGES')
  return { baseBranch, head, headBranch: name.branch }
}

/** Two dots separate the names of a comparison. No name contains them. */
function checkForm(text: string, hasForm: boolean): void {
  if (hasForm && !text.includes('..')) return
  throw new DomainError('INVALID_COMPARISON', { text: metadataText(text) })
}

function missing(ref: string): DomainError {
  return new DomainError('REF_NOT_FOUND', { ref: metadataText(ref) })
}

async function kindOf(
  app: ReposApp,
  repository: Repository,
  name: string,
): Promise<'branch' | 'other' | 'missing'> {
  if (isRefName(name) && (await readBranch(app, repository, name))) return 'branch'
  return (await findCommitId(app, repository, name)) === undefined ? 'missing' : 'other'
}

/** The head of a pull request in the form in which a client names it. */
interface HeadName {
  /** Owner of the repository. Empty for the base repository. */
  readonly owner: string
  /**
   * Empty for the repository of the owner in the network of the base: itself, its fork, its parent,
   * or another one.
   */
  readonly repository: string
  readonly branch: string
}

/**
 * Reads `branch`, `owner:branch` or `owner/repository:branch`. Branch names contain no colons
 * (git-check-ref-format(1)).
 */
export function parseHeadName(text: string): HeadName {
  const colon = text.indexOf(':')
  if (colon < 0) return { owner: '', repository: '', branch: text }
  const [owner = '', ...repository] = text.slice(0, colon).split('/')
  return { owner, repository: repository.join('/'), branch: text.slice(colon + 1) }
}

/**
 * Opens the repository of a head.
 *
 * @param base the base repository.
 * @returns undefined when the repository does not exist or the caller may not read its code.
 */
export async function openHead(
  app: ReposApp,
  caller: Caller,
  base: OpenRepository,
  { owner, repository }: HeadName,
): Promise<OpenRepository | undefined> {
  if (owner === '') return base
  try {
    if (repository !== '')
      return await openRepository(app, caller, { owner, repo: repository }, 'read')
    const named = await findOwnerByNameKey(app.db, nameKey(owner))
    const id = named && (await findRelated(app.db, base.repository, named.id))
    if (id === undefined) return undefined
    return id === base.repository.id ? base : await openRepositoryById(app, caller, id, 'read')
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}
