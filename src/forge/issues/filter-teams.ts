import type { Owner } from '../accounts/schema.ts'
import { maySeeOwner } from '../accounts/users/owners.ts'
import type { Caller } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { findVisibleTeam } from '../organizations/teams.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { QueryTeam } from './query/schema.ts'

/**
 * Finds the team that a search names.
 *
 * @param owner of the repositories; undefined if the search names none.
 * @param name empty for no team.
 * @throws FILTER_TEAM_UNKNOWN, also for a team that is hidden from the caller
 */
export async function findFilterTeam(
  app: ReposApp,
  caller: Caller,
  owner: Owner | undefined,
  name: string,
): Promise<QueryTeam | undefined> {
  if (name === '') return undefined
  const team = await findTeamOf(app, caller, owner, name)
  if (team) return team
  throw new DomainError('FILTER_TEAM_UNKNOWN', {
    name: metadataText(name),
    ...(owner && { owner: owner.name }),
  })
}

/** Returns the team of an owner with a name, if the caller may see both. */
export async function findTeamOf(
  app: ReposApp,
  caller: Caller,
  owner: Owner | undefined,
  name: string,
): Promise<QueryTeam | undefined> {
  if (owner?.kind !== 'ORGANIZATION' || !(await maySeeOwner(app, caller, owner))) return undefined
  const team = await findVisibleTeam(app, caller, owner.name, name)
  return (
    team && {
      id: team.id,
      organizationId: owner.id,
      hasAll: team.permission === 'owner' || team.includes_all_repositories === 1,
    }
  )
}
