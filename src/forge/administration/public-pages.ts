import type { Owner } from '../accounts/schema.ts'
import { getOwner } from '../accounts/users/owners.ts'
import { anyUserExists } from '../accounts/users/users.rows.ts'
import type { Caller } from '../core/access.ts'
import { DomainError, type Reason } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { openRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'

/** Which feeds of a repository a stranger may read, beside that of its activity. */
interface PublicFeeds {
  readonly hasReleases: boolean
  /** The branch whose commits have a feed; undefined for none. */
  readonly branch: string | undefined
}

/** A repository whose page everybody may see, under its present name. */
export interface PublicRepository {
  readonly owner: string
  readonly name: string
  readonly description: string
  /** Undefined for an address with an earlier name. */
  readonly feeds: PublicFeeds | undefined
  /** Whether the address had an earlier name. */
  readonly isMoved: boolean
}

/** Reasons that say to a stranger that there is nothing. */
const MISSING: ReadonlySet<Reason> = new Set([
  'REPOSITORY_NOT_FOUND',
  'REPOSITORY_ACCESS_DENIED',
  'REPOSITORY_UNIT_CLOSED',
  'USER_NOT_FOUND',
  'DELETED_MEANWHILE',
])

const MOVED: ReadonlySet<Reason> = new Set(['REPOSITORY_MOVED', 'REPOSITORY_OWNER_RENAMED'])

/** Returns whether the instance has no account yet. The first one administers it. */
export async function hasNoAccount(app: ReposApp): Promise<boolean> {
  return !(await anyUserExists(app.db))
}

/** Returns the account that an address names; undefined where strangers see none. */
export async function findPublicAccount(
  app: ReposApp,
  stranger: Caller & { kind: 'anonymous' },
  name: string,
): Promise<Owner | undefined> {
  try {
    return await getOwner(app, stranger, name)
  } catch (error) {
    if (error instanceof DomainError && MISSING.has(error.reason)) return undefined
    throw error
  }
}

/** Returns the repository that an address names; undefined where strangers see none. */
export async function findPublicRepository(
  app: ReposApp,
  stranger: Caller & { kind: 'anonymous' },
  name: RepositoryName,
): Promise<PublicRepository | undefined> {
  if (app.settings.privateInstance) return undefined
  try {
    const { owner, repository } = await openRepository(app, stranger, name, 'read')
    const { name: present, description, has_releases, branch_count, default_branch } = repository
    const feeds = {
      hasReleases: has_releases === 1,
      branch: branch_count > 0 ? default_branch : undefined,
    }
    return { owner: owner.name, name: present, description, feeds, isMoved: false }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (MISSING.has(error.reason)) return undefined
    const { owner, name: present } = error.metadata
    if (!MOVED.has(error.reason) || owner === undefined || present === undefined) throw error
    return { owner, name: present, description: '', feeds: undefined, isMoved: true }
  }
}
