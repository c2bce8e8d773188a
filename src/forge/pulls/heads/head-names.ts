import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import {
  type OpenRepository,
  openRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { findRelated } from '../../repositories/content/fork-networks.ts'
import type { ReposApp } from '../../repositories/ports.ts'

/** The head of a pull request in the form in which a client names it. */
export interface HeadName {
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
