import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { KeyPage } from '../../accounts/schema.ts'
import type { DeployKey, DeployKeysTable } from '../schema.ts'

/** A filter for deploy keys. */
export interface DeployKeyFilter {
  /** 0 for all. */
  readonly keyId: number
  /** Empty for all. */
  readonly fingerprint: string
}

/** Returns deploy keys of a repository, oldest first. */
export async function listDeployKeys(
  db: Db,
  repositoryId: number,
  { keyId, fingerprint }: DeployKeyFilter,
  offset: number,
  limit: number,
): Promise<KeyPage<DeployKey>> {
  const selected = selectDeployKeys(db, repositoryId)
    .$if(keyId !== 0, (query) => query.where('deploy_keys.key_id', '=', keyId))
    .$if(fingerprint !== '', (query) => query.where('public_keys.fingerprint', '=', fingerprint))
  const keys = await selected
    .selectAll('deploy_keys')
    .select('public_keys.fingerprint')
    .orderBy('deploy_keys.id')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await selected
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { keys, total }
}

export async function countDeployKeys(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('deploy_keys')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the deploy key with an id. */
export function findDeployKey(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<DeployKey | undefined> {
  return selectDeployKeys(db, repositoryId)
    .selectAll('deploy_keys')
    .select('public_keys.fingerprint')
    .where('deploy_keys.id', '=', id)
    .executeTakeFirst()
}

/** Returns the deploy key that makes a public key a key of a repository. */
export function findDeployKeyOf(
  db: Db,
  repositoryId: number,
  keyId: number,
): Promise<DeployKey | undefined> {
  return selectDeployKeys(db, repositoryId)
    .selectAll('deploy_keys')
    .select('public_keys.fingerprint')
    .where('deploy_keys.key_id', '=', keyId)
    .executeTakeFirst()
}

/** Returns the repositories of a public key, the first one first. */
export function listRepositoriesOfKey(
  db: Db,
  keyId: number,
): Promise<{ readonly repository_id: number; readonly title: string }[]> {
  return db
    .selectFrom('deploy_keys')
    .select(['repository_id', 'title'])
    .where('key_id', '=', keyId)
    .orderBy('id')
    .execute()
}

/** Returns whether the repository has a deploy key with a title. */
export async function hasDeployKeyTitle(
  db: Db,
  repositoryId: number,
  title: string,
): Promise<boolean> {
  const found = await db
    .selectFrom('deploy_keys')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('title', '=', title)
    .executeTakeFirst()
  return found !== undefined
}

/** Returns whether the repository has a public key. */
export async function hasDeployKey(db: Db, repositoryId: number, keyId: number): Promise<boolean> {
  const found = await db
    .selectFrom('deploy_keys')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  return found !== undefined
}

export async function insertDeployKey(tx: Tx, key: Insertable<DeployKeysTable>): Promise<number> {
  const { id } = await tx
    .insertInto('deploy_keys')
    .values(key)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/**
 * Deletes a deploy key.
 *
 * @returns whether the key existed
 */
export async function deleteDeployKey(db: Db, repositoryId: number, id: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('deploy_keys')
    .where('repository_id', '=', repositoryId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Records a use of a key in a repository unless a use after `staleUntil` is recorded. Unix seconds. */
export async function recordDeployKeyUse(
  db: Db,
  id: number,
  usedAt: number,
  staleUntil: number,
): Promise<void> {
  await db
    .updateTable('deploy_keys')
    .set({ last_used_time: usedAt })
    .where('id', '=', id)
    .where((eb) =>
      eb.or([eb('last_used_time', 'is', null), eb('last_used_time', '<=', staleUntil)]),
    )
    .execute()
}

function selectDeployKeys(db: Db, repositoryId: number) {
  return db
    .selectFrom('deploy_keys')
    .innerJoin('public_keys', 'public_keys.id', 'deploy_keys.key_id')
    .where('deploy_keys.repository_id', '=', repositoryId)
}
