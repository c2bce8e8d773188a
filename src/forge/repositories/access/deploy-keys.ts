import { transaction } from '../../../platform/database/database.ts'
import { findKeyByFingerprint, insertPublicKey } from '../../accounts/keys/public-keys.rows.ts'
import { checkKeyTitle, type PublicKeyDraft } from '../../accounts/keys/public-keys.ts'
import { readSshKey } from '../../accounts/keys/ssh-keys.ts'
import type { KeyPage } from '../../accounts/schema.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { DeployKey as DeployKeyRow } from '../schema.ts'
import * as rows from './deploy-keys.rows.ts'
import { checkNotArchived, type OpenRepository, openRepository } from './permissions.ts'

export type DeployKey = DeployKeyRow

/** The number of deploy keys of one repository. */
const MAX_KEYS = 100

/** A deploy key, with its repository. */
export interface DeployKeyView extends OpenRepository {
  readonly key: DeployKey
}

/** A page of the deploy keys of a repository, with the repository. */
export type DeployKeyPage = OpenRepository & KeyPage<DeployKey>

/** Returns a page of the deploy keys of a repository, oldest first. */
export async function listDeployKeys(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  filter: rows.DeployKeyFilter,
  page: Page,
): Promise<DeployKeyPage> {
  const open = await openRepository(app, caller, name, 'admin')
  return {
    ...open,
    ...(await rows.listDeployKeys(app.db, open.repository.id, filter, page.offset, page.limit)),
  }
}

/** Returns one deploy key. */
export async function getDeployKey(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: bigint,
): Promise<DeployKeyView> {
  const open = await openRepository(app, caller, name, 'admin')
  const key = await rows.findDeployKey(app.db, open.repository.id, Number(id))
  if (!key) throw new DomainError('KEY_NOT_FOUND')
  return { ...open, key }
}

/** Adds a deploy key to a repository. */
export async function addDeployKey(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  draft: PublicKeyDraft,
): Promise<DeployKeyView> {
  const open = await openRepository(app, caller, name, 'admin')
  checkNotArchived(open.repository)
  const title = checkKeyTitle(draft.title)
  const { line, lineWithoutComment, fingerprint } = readSshKey(draft.key)
  const repository_id = open.repository.id
  const create_time = nowSeconds(app.clock)
  const key = await transaction(app.db, async (tx) => {
    if (!(await findRepositoryById(tx, repository_id)))
      throw new DomainError('REPOSITORY_NOT_FOUND')
    const known = await findKeyByFingerprint(tx, fingerprint)
    if (known && known.user_id !== null) throw new DomainError('SSH_KEY_IN_USE')
    if (known && (await rows.hasDeployKey(tx, repository_id, known.id)))
      throw new DomainError('DEPLOY_KEY_EXISTS')
    if (await rows.hasDeployKeyTitle(tx, repository_id, title))
      throw new DomainError('DEPLOY_KEY_TITLE_TAKEN')
    if ((await rows.countDeployKeys(tx, repository_id)) >= MAX_KEYS) {
      throw new DomainError('TOO_MANY_KEYS', { limit: String(MAX_KEYS) })
    }
    // Other repositories may share the key, but not its title and comment.
    const shared = {
      user_id: null,
      fingerprint,
      title: '',
      line: lineWithoutComment,
      read_only: 0,
      create_time,
    }
    const { id: key_id } = known ?? (await insertPublicKey(tx, shared))
    const added = {
      repository_id,
      key_id,
      title,
      line,
      read_only: draft.readOnly ? 1 : 0,
      create_time,
    }
    return {
      ...added,
      id: await rows.insertDeployKey(tx, added),
      last_used_time: null,
      fingerprint,
    }
  })
  return { ...open, key }
}

/** Deletes a deploy key. */
export async function deleteDeployKey(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: bigint,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  if (!(await rows.deleteDeployKey(app.db, repository.id, Number(id))))
    throw new DomainError('KEY_NOT_FOUND')
}
