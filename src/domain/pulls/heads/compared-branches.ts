import { isRefName } from '../../../git/refs/refs.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { OpenRepository } from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { findCommitId } from '../../repos/reading/git-reading.ts'
import { readBranch } from '../../repos/refs/ref-index.ts'
import { openHead, parseHeadName } from './head-names.ts'

/** What is to be pulled, and where to. */
export interface ComparedBranches {
  readonly baseBranch: string
  /** That of the base, or one that shares its history. */
  readonly head: OpenRepository
  readonly headBranch: string
}

/** `owner:`, `owner/repository:` or nothing, before a name without a colon. */
const HEAD_FORM = /^(?:[^:/]+(?:\/[^:/]+)?:)?[^:]+$/

/** Forks of forks are followed so far. */
export const MAX_GENERATIONS = 20

/**
 * The two branches that a pull request is about, as somebody spells them.
 *
 * @param open the repository of the base.
 * @throws INVALID_FIELD for what is missing; PULL_REQUEST_WITHOUT_CHANGES for a branch and itself;
 *   INVALID_COMPARISON for what is no name; REF_NOT_FOUND for what does not exist, and for what the
 *   caller may not read; PULL_REQUEST_NOT_OF_BRANCHES
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
  if (!head || !(await areRelated(app, open.repository, head.repository))) throw missing(headText)
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

/** Two dots are between the names of a comparison, and in none. */
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

/** Whether one repository was forked from the other, or both in the end from the same one. */
async function areRelated(app: ReposApp, one: Repository, other: Repository): Promise<boolean> {
  return one.id === other.id || (await originOf(app, one)) === (await originOf(app, other))
}

/** The id of the first repository from which others were forked, up to this one. */
async function originOf(app: ReposApp, repository: Repository): Promise<number> {
  let { id, parent_id: parentId } = repository
  for (let generation = 0; parentId !== null && generation < MAX_GENERATIONS; generation += 1) {
    id = parentId
    parentId = (await findRepositoryById(app.db, id))?.parent_id ?? null
  }
  return id
}
