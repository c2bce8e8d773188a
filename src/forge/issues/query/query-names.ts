import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import { findUserByUsername, maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { openRepositories } from '../../repositories/access/permissions.ts'
import { findRepository } from '../../repositories/lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../../repositories/lifecycle/repository-fields.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import { findTeamOf } from '../filter-teams.ts'
import { hasPosted } from '../issue-lists.rows.ts'
import { pathKey } from './query-conditions.rows.ts'
import { type Condition, QUALIFIERS, type QueryNames, type QueryTeam, type Term } from './schema.ts'

/**
 * Finds what the names in a query mean. What the caller may not see is left out, so it matches as
 * little as what does not exist.
 *
 * @param repository of a list of one repository.
 */
export async function findNames(
  app: ReposApp,
  caller: Caller,
  repository: Repository | undefined,
  condition: Condition,
): Promise<QueryNames> {
  const users = new Map<string, number>()
  const owners = new Map<string, number>()
  const repositories = new Map<string, number>()
  const teams = new Map<string, QueryTeam>()
  const see = async (name: string) => (await findSeenUser(app, caller, name, repository))?.id
  for (const [qualifier, value] of valuesIn(condition)) {
    if (value.kind === 'name' && QUALIFIERS[qualifier] === 'user')
      await remember(users, value.text.toLowerCase(), () => see(value.text))
    if (value.kind === 'name' && qualifier === 'owner')
      await remember(owners, value.text.toLowerCase(), () => findOwnerId(app, caller, value.text))
    if (value.kind === 'path' && qualifier === 'team')
      await remember(teams, pathKey(value), () => findTeam(app, caller, value.owner, value.name))
    const path = value.kind === 'conversation' ? { owner: value.owner, name: value.repo } : value
    if (!('owner' in path) || qualifier === 'team') continue
    const { owner, name } = path
    if (owner !== undefined && name !== undefined)
      await remember(repositories, pathKey({ owner, name }), () =>
        findRepositoryId(app, caller, owner, name),
      )
  }
  return { users, owners, repositories, teams }
}

function valuesIn(condition: Condition): [Term['qualifier'], Term['values'][number]][] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.items.flatMap(valuesIn)
    case 'not':
      return valuesIn(condition.item)
    case 'term':
      return condition.values.map((value) => [condition.qualifier, value])
    default:
      return []
  }
}

async function remember<Found>(
  known: Map<string, Found>,
  key: string,
  find: () => Promise<Found | undefined>,
): Promise<void> {
  if (known.has(key)) return
  const found = await find()
  if (found !== undefined) known.set(key, found)
}

/**
 * Returns the user of a name whom the caller may see.
 *
 * @param repository where the author of a conversation is no secret, even if the account is hidden.
 */
export async function findSeenUser(
  app: ReposApp,
  caller: Caller,
  username: string,
  repository: Repository | undefined,
): Promise<User | undefined> {
  const user = await findUserByUsername(app.db, username)
  const isSeen =
    user &&
    ((await maySeeOwner(app, caller, userAsOwner(user))) ||
      (repository !== undefined && (await hasPosted(app.db, repository.id, user.id))))
  return isSeen ? user : undefined
}

async function findOwnerId(
  app: ReposApp,
  caller: Caller,
  name: string,
): Promise<number | undefined> {
  const owner = await findOwnerByNameKey(app.db, nameKey(name))
  return owner && (await maySeeOwner(app, caller, owner)) ? owner.id : undefined
}

async function findRepositoryId(
  app: ReposApp,
  caller: Caller,
  ownerName: string,
  name: string,
): Promise<number | undefined> {
  const owner = await findOwnerByNameKey(app.db, nameKey(ownerName))
  const repository = owner && (await findRepository(app.db, owner.id, repositoryNameKey(name)))
  if (!repository) return undefined
  const opened = await openRepositories(app, caller, [repository], 'issues')
  return opened.length > 0 ? repository.id : undefined
}

async function findTeam(
  app: ReposApp,
  caller: Caller,
  organization: string,
  name: string,
): Promise<QueryTeam | undefined> {
  const owner = await findOwnerByNameKey(app.db, nameKey(organization))
  return findTeamOf(app, caller, owner, name)
}
