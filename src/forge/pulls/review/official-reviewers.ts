import type { Db } from '../../../platform/database/schema.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import { type RepositoryAccess, suffices } from '../../core/levels.ts'
import type { Team } from '../../organizations/schema.ts'
import { unitLevels } from '../../organizations/team-rights.ts'
import { findMembersOf, findTeamsAt } from '../../organizations/teams.rows.ts'
import {
  accessOfUsers,
  type OpenRepository,
  type Unit,
} from '../../repositories/access/permissions.ts'
import { findListed } from '../../repositories/protection/branch-protections.rows.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { Repository } from '../../repositories/schema.ts'
import type { Officials } from './review-rules.ts'

/** A repository and its owner. */
export type Home = Pick<OpenRepository, 'repository' | 'owner'>

/**
 * Returns which of some users and teams are official reviewers at present: those on the list of the
 * protection rule or, without a list, those with write access to the code. Excludes those without
 * read access to pull requests.
 *
 * @param rule the rule for the base of the pull request. Undefined without one.
 */
export async function findOfficials(
  db: Db,
  { repository, owner }: Home,
  rule: Pick<BranchRule, 'id' | 'enable_approvals_whitelist'> | undefined,
  userIds: readonly number[],
  teamIds: readonly number[],
): Promise<Officials> {
  const users = [...(await findUsersByIds(db, userIds)).values()].filter(
    ({ state }) => state === 'NORMAL',
  )
  const access = await accessOfUsers(db, users, repository, owner)
  const teams = await findTeamsAt(db, repository, teamIds)
  if (!rule?.enable_approvals_whitelist) {
    const writers = users.filter(({ id }) => suffices(access.get(id)?.code ?? 'none', 'write'))
    return {
      userIds: idsOf(writers),
      teamIds: idsOf(teams.filter((team) => suffices(teamLevel(team, 'code'), 'write'))),
    }
  }
  const listed = await findListed(db, repository.id)
  const isApproval = ({ protection_id, list }: { protection_id: number; list: string }) =>
    protection_id === rule.id && list === 'approvals'
  const listedTeams = idsOf(listed.teams.filter(isApproval))
  const named = new Set([
    ...idsOf(listed.users.filter(isApproval)),
    ...(await findMembersOf(db, [...listedTeams], userIds)),
  ])
  const readers = users.filter(({ id }) => suffices(access.get(id)?.pulls ?? 'none', 'read'))
  return {
    userIds: idsOf(readers.filter(({ id }) => named.has(id))),
    teamIds: idsOf(teams.filter(({ id }) => listedTeams.has(id))),
  }
}

/** Returns the access level of a team to a unit of a repository that is assigned to the team. */
function teamLevel(team: Pick<Team, 'permission' | 'units'>, unit: Unit): RepositoryAccess {
  if (team.permission === 'admin' || team.permission === 'owner') return team.permission
  return unitLevels(team)[`repo.${unit}`] ?? 'none'
}

function idsOf(items: readonly { readonly id: number }[]): ReadonlySet<number> {
  return new Set(items.map(({ id }) => id))
}

/** Returns whether a team may read the pull requests of a repository of its organisation. */
export async function teamReads(db: Db, team: Team, repository: Repository): Promise<boolean> {
  if (repository.private === 0) return true
  const [found] = await findTeamsAt(db, repository, [team.id])
  return found !== undefined && suffices(teamLevel(found, 'pulls'), 'read')
}
