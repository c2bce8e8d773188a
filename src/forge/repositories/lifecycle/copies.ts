import {
  FairSlots,
  type RunInSlot,
  type SlotLimits,
} from '../../../platform/concurrency/fair-slots.ts'
import { isUniqueViolation, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { discardDraft, publishDraft } from '../../../platform/git/repositories/repositories.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { checkRepositoryLimit } from '../quotas/repository-limit.ts'
import { endPendingUpdate, recordCreationIn } from '../refs/pending-ref-updates.ts'
import { recordAllRefs } from '../refs/ref-updates.ts'
import type { NewRepository } from '../schema.ts'
import { findForkOf } from './forks.rows.ts'
import { insertRepository } from './repositories.rows.ts'
import { removeRepository } from './repositories.ts'
import { repositoryNameKey } from './repository-fields.ts'

/**
 * Repositories that begin as copies of others. The folder is complete before the row exists, so no
 * caller sees half of a copy, and a slow copy does not reserve a name.
 */

/** The columns that differ between copies. */
export type Copy = Pick<
  NewRepository,
  | 'owner_id'
  | 'name'
  | 'description'
  | 'private'
  | 'default_branch'
  | 'parent_id'
  | 'mirror'
  | 'original_url'
  | 'owned_bytes'
>

/** The rows of a copy. */
interface CopyRows {
  /** The account that creates the repository. */
  readonly creatorId: number
  /** Returns the columns from the current rows. */
  describe(tx: Tx): Promise<Copy>
  /** Inserts the rows that belong to the repository. */
  addRows(tx: Tx, id: number): Promise<void>
}

/**
 * Creates a repository from a draft. In any case, the draft is gone afterwards.
 *
 * @returns the number of the repository.
 */
export async function publishCopy(
  app: ReposApp,
  draft: string,
  { creatorId, describe, addRows }: CopyRows,
): Promise<number> {
  let copy: Copy | undefined
  const insert = async () => {
    const lease = await app.coordination.lease()
    return transaction(app.db, async (tx) => {
      copy = await describe(tx)
      await checkRepositoryLimit(app, tx, copy.owner_id)
      const id = await insertRepository(tx, rowOf(app, copy))
      await addRows(tx, id)
      return { lease, id, updateId: await recordCreationIn(app, tx, id, creatorId) }
    })
  }
  const { lease, id, updateId } = await insert().catch(async (error: unknown) => {
    await discardDraft(draft)
    throw copy && isUniqueViolation(error) ? await takenError(app, copy) : error
  })
  try {
    // Others remove the repository of a server that was stopped for long.
    lease.check()
    await publishDraft(app.git, draft, id)
    await recordAllRefs(app, id, updateId)
    return id
  } catch (error) {
    await discardDraft(draft)
    await removeRepository(app, id)
    throw error
  } finally {
    endPendingUpdate(app, updateId)
  }
}

function rowOf(app: ReposApp, copy: Copy): NewRepository {
  const now = nowSeconds(app.clock)
  const times = { archive_time: null, create_time: now, update_time: now }
  return { ...copy, ...times, name_key: repositoryNameKey(copy.name), website: '' }
}

/** Returns the error for a name or fork that the owner already has. */
async function takenError(
  app: ReposApp,
  { owner_id, parent_id, name }: Copy,
): Promise<DomainError> {
  const fork = parent_id && (await findForkOf(app.db, owner_id, parent_id))
  if (!fork) return new DomainError('REPOSITORY_EXISTS', { name })
  const owner = await findOwnerById(app.db, owner_id)
  return new DomainError('FORK_EXISTS', { owner: owner?.name ?? '' })
}

/** Each copy takes two processes, some connections, and at most `maxPushBytes` of the disk. */
const MAX_COPIES = 16

/** A copy from a slow server lasts long, and further ones would slow it down. */
const MAX_COPIES_PER_ACCOUNT = 2

/** More copies, each the only one of its account, so that slow ones of a few block nobody. */
const FIRST_COPIES = 16

/** The limits of copies. A copy that exceeds one fails with TOO_MANY_COPIES. */
export const COPY_LIMITS = {
  max: MAX_COPIES,
  firstPlaces: FIRST_COPIES,
  maxPerHolder: MAX_COPIES_PER_ACCOUNT,
  full: (limit: number) => new DomainError('TOO_MANY_COPIES', { limit: String(limit) }),
} satisfies SlotLimits

/** Creates the slots of copies of this process. */
export function createCopySlots(): RunInSlot {
  return new FairSlots(COPY_LIMITS).run
}
