import type { Owner } from '../../accounts/schema.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import { findTeamByName } from '../../organizations/teams.rows.ts'
import type { ReposApp } from '../ports.ts'

/** The number of users, and of teams, on one list. */
const MAX_LISTED = 100

/**
 * Returns the ids of the users on a list, without duplicates. Names match in upper or lower case.
 *
 * @param field the request field of the list
 * @throws UNKNOWN_ALLOWLIST_NAME, INVALID_FIELD
 */
export async function userIdsOf(
  app: ReposApp,
  field: string,
  names: readonly string[],
): Promise<number[]> {
  return idsOf(field, names, async (key, name) => {
    const owner = await findOwnerByNameKey(app.db, key)
    if (owner?.kind !== 'USER')
      throw new DomainError('UNKNOWN_ALLOWLIST_NAME', { kind: 'user', name })
    return owner.id
  })
}

/**
 * Returns the ids of the teams on a list. Only organisations have teams: for the repository of a
 * user, the list is ignored.
 */
export async function teamIdsOf(
  app: ReposApp,
  field: string,
  { kind, id }: Owner,
  names: readonly string[],
): Promise<number[]> {
  if (kind !== 'ORGANIZATION') return []
  return idsOf(field, names, async (key, name) => {
    const team = await findTeamByName(app.db, id, key)
    if (!team)
      throw new DomainError('UNKNOWN_ALLOWLIST_NAME', {
        kind: 'team',
        name,
        organization_id: String(id),
      })
    return team.id
  })
}

async function idsOf(
  field: string,
  names: readonly string[],
  find: (key: string, name: string) => Promise<number>,
): Promise<number[]> {
  if (names.length > MAX_LISTED) throw new DomainError('INVALID_FIELD', { field })
  const ids = new Set<number>()
  for (const name of names) ids.add(await find(nameKey(name), name.slice(0, 100)))
  return [...ids]
}
