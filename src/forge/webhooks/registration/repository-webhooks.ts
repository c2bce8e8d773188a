import { HEADS } from '../../../platform/git/core/ref-names.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepository,
} from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { queueTest } from '../outbox/webhook-deliveries.ts'
import { getHook, type HookPlace } from './webhooks.ts'

/** Returns the place of the webhooks of a repository that the caller administers. */
export async function repositoryHooks(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<HookPlace> {
  return placeOf(await openRepository(app, caller, name, 'admin'))
}

/** Returns the same for a change of the webhooks. */
export async function changeableRepositoryHooks(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<HookPlace> {
  const open = await openRepository(app, caller, name, 'admin')
  checkNotArchived(open.repository)
  return placeOf(open)
}

/**
 * Queues a delivery of the event `push` about the head of a branch. In an empty repository, the
 * event has no commit.
 *
 * @param branch a name, with or without `refs/heads/`; empty for the default branch.
 */
export async function testRepositoryHook(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: bigint,
  branch: string,
): Promise<void> {
  const open = await openRepository(app, caller, name, 'admin')
  const { repository } = open
  const place = placeOf(open)
  await getHook(app.db, place, id)
  const short = branch.startsWith(HEADS) ? branch.slice(HEADS.length) : branch
  const tested = short || repository.default_branch
  const head = (await readBranch(app, repository, tested))?.commit_id ?? null
  if (short !== '' && head === null)
    throw new DomainError('REF_NOT_FOUND', { ref: metadataText(branch) })
  const moved = { ref: `${HEADS}${tested}`, before: head, after: head }
  const actor = signedIn(caller).user.id
  await queueTest(app, place, id, {
    type: 'push',
    facts: { repository: repository.id, actor, ...moved },
  })
}

function placeOf({ repository }: OpenRepository): HookPlace {
  return { scope: 'repository', repository_id: repository.id }
}
