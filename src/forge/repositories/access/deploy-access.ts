import type { Owner } from '../../accounts/schema.ts'
import { findFormerOwner, findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import { findUserById } from '../../accounts/users/users.rows.ts'
import type { Peer, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type RepositoryName } from '../../core/names.ts'
import { findOldestOwner } from '../../organizations/teams.rows.ts'
import { findRenamedRepository, findRepository } from '../lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../lifecycle/repository-fields.ts'
import type { ReposApp } from '../ports.ts'
import type { DeployKey, Repository } from '../schema.ts'
import { findDeployKeyOf, listRepositoriesOfKey } from './deploy-keys.rows.ts'

/** A repository that a deploy key may use. */
export interface DeployAccess {
  readonly repository: Repository
  readonly owner: Owner
  readonly key: DeployKey
}

/**
 * Opens a repository for a deploy key, which has rights in its own repositories only: any other
 * repository, even a public one, does not exist for the key. The rights end with the archiving of
 * the owner.
 *
 * @param keyId row of the public key.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED
 */
export async function openByDeployKey(
  app: ReposApp,
  keyId: number,
  name: RepositoryName,
): Promise<DeployAccess> {
  const [ownerKey, key] = [nameKey(name.owner), repositoryNameKey(name.repo)]
  const named = await findOwnerByNameKey(app.db, ownerKey)
  const owner = named ?? (await findFormerOwner(app.db, ownerKey))
  const present = owner && (await findRepository(app.db, owner.id, key))
  const repository = present ?? (owner && (await findRenamedRepository(app.db, owner.id, key)))
  const deployKey = repository && (await findDeployKeyOf(app.db, repository.id, keyId))
  // A repository that has moved to another owner is not found by its former name.
  const isHidden = !deployKey || repository.owner_id !== owner?.id || owner.state === 'ARCHIVED'
  if (isHidden) throw new DomainError('REPOSITORY_NOT_FOUND')
  if (named && present) return { repository, owner, key: deployKey }
  const names = { owner: owner.name, name: repository.name, former: `${ownerKey}/${key}` }
  throw new DomainError('REPOSITORY_MOVED', names)
}

/** A deploy key that makes a request. */
export interface DeployKeyCaller {
  /** Row of the public key. */
  readonly keyId: number
  readonly peer: Peer
}

/**
 * Returns the caller in whose name a deploy key acts: the owner of the repository, or the oldest owner
 * of an organisation. Undefined for an organisation without an active owner.
 */
export async function callerOfDeployKey(
  app: ReposApp,
  { owner, key }: DeployAccess,
  { keyId, peer }: DeployKeyCaller,
): Promise<SignedIn | undefined> {
  // The records of a push name an account, which an organisation is not.
  const user = (await findUserById(app.db, owner.id)) ?? (await findOldestOwner(app.db, owner.id))
  return user && { kind: 'user', user, peer, credential: { kind: 'deploy key', keyId, id: key.id } }
}

/** Returns whether a public key is a deploy key of a repository. */
export async function isDeployKeyOf(
  app: ReposApp,
  keyId: number,
  repositoryId: number,
): Promise<boolean> {
  return (await findDeployKeyOf(app.db, repositoryId, keyId)) !== undefined
}

/** Returns the title of a deploy key: that of its first repository. */
export async function titleOfDeployKey(app: ReposApp, keyId: number): Promise<string> {
  return (await listRepositoriesOfKey(app.db, keyId))[0]?.title ?? ''
}
