import { findUserById } from '../../../storage/accounts/users.ts'
import { type MaintainedHead, maintainedHeads } from '../../../storage/pulls/pull-heads.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import {
  accessOfUser,
  type OpenRepository,
  openRepositoryById,
} from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { readBranchRules } from '../../repos/protection/branch-rules.ts'
import { mayMerge } from '../../repos/protection/protection-rules.ts'
import { MAX_GENERATIONS } from './compared-branches.ts'

/**
 * Maintainer edits: who could merge a pull request may push to the branch of a fork that it is of,
 * as long as it is open, its poster lets them and may push there, too. To that branch alone, which
 * they may not delete. Whoever maintains a fork that pulls from where it comes from may not: what
 * is usual in the fork, whether maintainers may edit, is for its owner to say.
 */

/**
 * Pull requests that are looked at for one push. A branch has few; a fork with more of them is
 * asked by names of branches later.
 */
const MAX_PULLS = 200

/**
 * The branches of a repository that a caller may push to as one who maintains what is to pull them.
 *
 * @param open the repository, which the caller may read.
 * @param branches of which to tell; undefined for all.
 */
export async function maintainedBranches(
  app: ReposApp,
  caller: SignedIn,
  { repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>,
  branches?: readonly string[],
): Promise<ReadonlySet<string>> {
  const maintained = new Set<string>()
  for (const head of await maintainedHeads(app.db, repository.id, branches, MAX_PULLS)) {
    if (maintained.has(head.head_branch)) continue
    if (await isOfUpstream(app, head, repository)) continue
    if (
      (await mayMergeTo(app, caller, head)) &&
      (await mayPosterPush(app, head, repository, owner))
    ) {
      maintained.add(head.head_branch)
    }
  }
  return maintained
}

/**
 * Whether what a pull request goes to was forked from the repository that it is of, by way of
 * others perhaps.
 */
async function isOfUpstream(
  { db }: ReposApp,
  { repository_id }: MaintainedHead,
  head: Repository,
): Promise<boolean> {
  let id: number | null = repository_id
  for (let generation = 0; id !== null && generation < MAX_GENERATIONS; generation += 1) {
    if (id === head.id) return true
    id = (await findRepositoryById(db, id))?.parent_id ?? null
  }
  return false
}

/** Whether a caller may merge to the base of a pull request. */
async function mayMergeTo(
  app: ReposApp,
  caller: SignedIn,
  { repository_id, base_branch }: MaintainedHead,
): Promise<boolean> {
  try {
    const { repository, units } = await openRepositoryById(
      app,
      caller,
      repository_id,
      'read',
      'pulls',
    )
    if (repository.archive_time !== null) return false
    const rules = await readBranchRules(app, repository_id, caller.user.id, units)
    const inForce = rules.inForceFor(base_branch)
    return inForce ? mayMerge(inForce.rule, inForce.pusher) : suffices(units.code, 'write')
  } catch (error) {
    if (error instanceof DomainError) return false
    throw error
  }
}

async function mayPosterPush(
  app: ReposApp,
  { poster_id }: MaintainedHead,
  repository: Repository,
  owner: OpenRepository['owner'],
): Promise<boolean> {
  const poster = poster_id === null ? undefined : await findUserById(app.db, poster_id)
  if (poster?.state !== 'NORMAL') return false
  return suffices((await accessOfUser(app, poster, repository, owner)).code, 'write')
}
