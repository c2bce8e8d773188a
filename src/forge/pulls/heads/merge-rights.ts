import { findUserById } from '../../accounts/users/users.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import {
  accessOfUser,
  type OpenRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { MAX_GENERATIONS } from '../../repositories/content/fork-networks.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import {
  mayBypass,
  mayMerge,
  type RuleInForce,
} from '../../repositories/protection/protection-rules.ts'
import type { Repository } from '../../repositories/schema.ts'
import { type MaintainedHead, maintainedHeads } from './pull-heads.rows.ts'

/** Rights of a user on pull requests to a branch. */
export interface MergeRights {
  /** The protection rule of the branch, for this user; undefined if the branch has none. */
  readonly inForce: RuleInForce | undefined
  /** Granted by the rule. Without a rule, write access to code is enough. */
  readonly mayMerge: boolean
  /**
   * Whether the user may merge a pull request that is not ready. Granted by the rule. Without a
   * rule, this takes admin access to code.
   */
  readonly mayForce: boolean
}

/**
 * Reads the rule of a branch and returns what the caller may do with pull requests to this branch.
 */
export async function readMergeRights(
  app: ReposApp,
  { user }: SignedIn,
  { repository, units }: Pick<OpenRepository, 'repository' | 'units'>,
  branch: string,
): Promise<MergeRights> {
  const inForce = (await readBranchRules(app, repository.id, user.id, units)).inForceFor(branch)
  if (!inForce) {
    const { code } = units
    return { inForce, mayMerge: suffices(code, 'write'), mayForce: suffices(code, 'admin') }
  }
  const { rule, pusher } = inForce
  return { inForce, mayMerge: mayMerge(rule, pusher), mayForce: mayBypass(rule, pusher) }
}

/**
 * Maintainer edits: a user who may merge an open pull request from a fork may push to its head
 * branch, if the poster allows that and may push there, too. The user may not delete the branch,
 * nor push to others. This does not apply to pull requests from an upstream repository into its
 * fork: maintainers of a fork must not gain access to its upstream.
 */

/**
 * Pull requests that are examined for one push. A caller that names branches gets past this limit.
 */
const MAX_PULLS = 200

/**
 * Returns the branches of a repository that the caller may push to as a maintainer of the base
 * repositories of their pull requests.
 *
 * @param open the head repository, which the caller may read.
 * @param branches the branches to examine; undefined for all.
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

/** Returns whether the base repository of a pull request is a fork, at any depth, of its head. */
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

/** Returns whether the caller may merge into the base branch of a pull request. */
async function mayMergeTo(
  app: ReposApp,
  caller: SignedIn,
  { repository_id, base_branch }: MaintainedHead,
): Promise<boolean> {
  try {
    const open = await openRepositoryById(app, caller, repository_id, 'read', 'pulls')
    if (open.repository.archive_time !== null) return false
    return (await readMergeRights(app, caller, open, base_branch)).mayMerge
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
