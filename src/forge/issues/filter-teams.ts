import type { Owner } from '../accounts/schema.ts'
import type { Caller } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { findVisibleTeam } from '../organizations/teams.ts'
import type { ReposApp } from '../repositories/ports.ts'

/** The team whose repositories a search looks at. */
export interface FilterTeam {
  readonly id: number
  /** Whether all repositories of the organisation are those of the team. */
  readonly hasAll: boolean
}

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
): Promise<FilterTeam | undefined> {
  if (name === '') return undefined
  const team =
    owner?.kind === 'ORGANIZATION'
      ? await findVisibleTeam(app, caller, owner.name, name)
      : undefined
  if (team)
    return {
      id: team.id,
      hasAll: team.permission === 'owner' || team.includes_all_repositories === 1,
    }
  throw new DomainError('FILTER_TEAM_UNKNOWN', {
    name: metadataText(name),
    ...(owner && { owner: owner.name }),
  })
}
