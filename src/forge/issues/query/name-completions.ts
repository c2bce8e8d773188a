import type { Owner } from '../../accounts/schema.ts'
import {
  findOwnerByNameKey,
  findOwnersByIds,
  ownerIdsFrom,
} from '../../accounts/users/owners.rows.ts'
import { maySeeOwner } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import { nameKey } from '../../core/names.ts'
import { teamNamesFrom } from '../../organizations/teams.ts'
import {
  type OpenRepository,
  openRepositories,
  repositoryReader,
} from '../../repositories/access/permissions.ts'
import { readableFrom } from '../../repositories/lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../../repositories/lifecycle/repository-fields.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchNames } from '../../repositories/refs/ref-index.ts'

/** The number of completions of an answer. */
export const MAX_COMPLETIONS = 20

/** The number of names of owners that are looked at for completions. */
const MAX_OWNERS = 200

/**
 * Returns the values of `owner:`, `repo:`, `team:`, `head:` and `base:` that begin with a text; none
 * for another qualifier. What the caller may not see is left out. Each list is the begin of an index
 * and has a bound.
 */
export async function completeNames(
  app: ReposApp,
  caller: Caller,
  { repository, units }: OpenRepository,
  qualifier: string,
  begin: string,
): Promise<string[]> {
  // No name has this character, and PostgreSQL takes no such text.
  if (begin.includes('\0')) return []
  switch (qualifier) {
    case 'owner': {
      const owners = await ownersFrom(app, 'all', begin)
      return (await seenOf(app, caller, owners)).map(({ name }) => name)
    }
    case 'repo':
      return repositoriesFrom(app, caller, begin)
    case 'team':
      return teamsFrom(app, caller, begin)
    case 'head':
    case 'base':
      return suffices(units.code, 'read')
        ? readBranchNames(app, repository, begin, MAX_COMPLETIONS)
        : []
    default:
      return []
  }
}

/** Returns owners whose names begin with a text, by name, seen by the caller or not. */
async function ownersFrom(
  app: ReposApp,
  kind: 'all' | 'organizations',
  begin: string,
): Promise<Owner[]> {
  const key = nameKey(begin)
  const ids = await ownerIdsFrom(app.db, kind, key, MAX_OWNERS)
  const owners = await findOwnersByIds(app.db, ids)
  return [...new Set(ids)].flatMap((id) => {
    const owner = owners.get(id)
    // The text may be that of a custom id, which is no name in a query.
    return owner && nameKey(owner.name).startsWith(key) ? [owner] : []
  })
}

/** Returns the first owners that the caller may see. */
async function seenOf(app: ReposApp, caller: Caller, owners: readonly Owner[]): Promise<Owner[]> {
  const seen: Owner[] = []
  for (const owner of owners) {
    if (await maySeeOwner(app, caller, owner)) seen.push(owner)
    if (seen.length === MAX_COMPLETIONS) break
  }
  return seen
}

/** Returns the owners that the begin of a path stands for, and the begin of the name after them. */
async function pathFrom(
  app: ReposApp,
  kind: 'all' | 'organizations',
  begin: string,
): Promise<{ readonly owners: readonly Owner[]; readonly name: string }> {
  const slash = begin.indexOf('/')
  if (slash < 0) return { owners: await ownersFrom(app, kind, begin), name: '' }
  const owner = await findOwnerByNameKey(app.db, nameKey(begin.slice(0, slash)))
  return { owners: owner ? [owner] : [], name: begin.slice(slash + 1) }
}

/** A collaborator may read a repository without seeing its owner, as in the lists of repositories. */
async function repositoriesFrom(app: ReposApp, caller: Caller, begin: string): Promise<string[]> {
  const { owners, name } = await pathFrom(app, 'all', begin)
  const found = await readableFrom(
    app.db,
    repositoryReader(app, caller),
    owners.map(({ id }) => id),
    repositoryNameKey(name),
    MAX_COMPLETIONS,
  )
  const open = await openRepositories(app, caller, found, 'issues')
  return open.map(({ owner, repository }) => `${owner.name}/${repository.name}`)
}

async function teamsFrom(app: ReposApp, caller: Caller, begin: string): Promise<string[]> {
  const { owners, name } = await pathFrom(app, 'organizations', begin)
  const organizations = owners.filter(({ kind }) => kind === 'ORGANIZATION')
  const paths: string[] = []
  for (const organization of await seenOf(app, caller, organizations)) {
    const left = MAX_COMPLETIONS - paths.length
    if (left <= 0) break
    const teams = await teamNamesFrom(app, caller, organization.name, name, left)
    paths.push(...teams.map((team) => `${organization.name}/${team}`))
  }
  return paths
}
