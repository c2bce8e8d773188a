import type { Repository } from '../../storage/repositories.ts'
import { findRenamedRepository, findRepository } from '../../storage/repositories.ts'
import { findUserByNameKey, type User } from '../../storage/users.ts'
import { actsAsAdministrator, type Caller, seesPublicDataOnly } from '../access.ts'
import { nameKey } from '../accounts/user-fields.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { repositoryNameKey } from './names.ts'

/** What a caller may do to a repository, each level including those before it. */
const LEVELS = ['none', 'read', 'write', 'admin', 'owner'] as const
export type RepositoryAccess = (typeof LEVELS)[number]

/** A repository that a caller may at least read. */
export interface OpenRepository {
  readonly repository: Repository
  readonly owner: User
  readonly access: RepositoryAccess
}

/** What a caller may do to a repository. Whether it is archived is another question. */
export function accessTo(app: App, caller: Caller, repository: Repository): RepositoryAccess {
  const isPrivate = repository.private === 1
  if (isPrivate && seesPublicDataOnly(caller)) return 'none'
  if (caller.kind === 'user') {
    if (caller.user.id === repository.owner_id || actsAsAdministrator(caller, 'write')) return 'owner'
    if (actsAsAdministrator(caller, 'read')) return 'read'
  } else if (app.settings.privateInstance) {
    return 'none'
  }
  return isPrivate ? 'none' : 'read'
}

/** Whether a level is enough for what needs another one. */
export function suffices(access: RepositoryAccess, needed: RepositoryAccess): boolean {
  return LEVELS.indexOf(access) >= LEVELS.indexOf(needed)
}

/**
 * The repository that a caller names, for something that needs a level of access.
 *
 * @param ownerName, name in any case.
 * @throws REPOSITORY_NOT_FOUND when there is none, or none that the caller may know of; REPOSITORY_MOVED under the same condition;
 *   REPOSITORY_ACCESS_DENIED when the caller may read it and no more.
 */
export async function openRepository(
  app: App,
  caller: Caller,
  ownerName: string,
  name: string,
  needed: RepositoryAccess,
): Promise<OpenRepository> {
  const missing = () => new DomainError('REPOSITORY_NOT_FOUND')
  const owner = await findUserByNameKey(app.db, nameKey(ownerName))
  // The name may be the chosen id of somebody's account, which is no part of a path.
  if (!owner || nameKey(owner.username) !== nameKey(ownerName)) throw missing()
  const key = repositoryNameKey(name)
  const found = await findRepository(app.db, owner.id, key)
  const repository = found ?? (await findRenamedRepository(app.db, owner.id, key))
  if (!repository) throw missing()
  const access = accessTo(app, caller, repository)
  if (access === 'none') throw missing()
  if (!found) throw new DomainError('REPOSITORY_MOVED', { owner: owner.username, name: repository.name })
  if (!suffices(access, needed)) throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
  return { repository, owner, access }
}

/** @throws REPOSITORY_ARCHIVED */
export function checkNotArchived({ archive_time }: Repository): void {
  if (archive_time !== null) throw new DomainError('REPOSITORY_ARCHIVED')
}
