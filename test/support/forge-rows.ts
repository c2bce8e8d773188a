import { randomUUID } from 'node:crypto'
import type { Insertable } from 'kysely'
import { claimNames } from '../../src/forge/accounts/users/users.rows.ts'
import type { Caller, SignedIn } from '../../src/forge/core/access.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { Scopes } from '../../src/forge/core/scopes.ts'
import { insertOrganization } from '../../src/forge/organizations/organizations.rows.ts'
import type { NewOrganization, TeamsTable } from '../../src/forge/organizations/schema.ts'
import { insertPullRequest } from '../../src/forge/pulls/heads/pull-requests.rows.ts'
import type { NewPullRequest, PullRequest } from '../../src/forge/pulls/schema.ts'
import { insertRepository } from '../../src/forge/repositories/lifecycle/repositories.rows.ts'
import type { NewRepository, Repository } from '../../src/forge/repositories/schema.ts'
import type { Tx } from '../../src/platform/database/schema.ts'
import { LOCAL_PEER } from './app.ts'

/** Somebody who is not signed in. */
export const ANYBODY: Caller = { kind: 'anonymous', peer: LOCAL_PEER }

/** A user in a session. */
export function session(user: User): SignedIn {
  return {
    kind: 'user',
    peer: LOCAL_PEER,
    user,
    credential: { kind: 'session', sessionId: 'a session' },
  }
}

/** A user by a token. */
export function token(user: User, ...scopes: string[]): SignedIn {
  return {
    ...session(user),
    credential: { kind: 'token', uuid: 'a token', scopes: Scopes.parse(scopes) },
  }
}

const TIMES = { create_time: 0, update_time: 0 }

/** Stores an organisation, by way of rows, and returns its number. */
export async function addOrganization(
  tx: Tx,
  organization: Partial<NewOrganization> & { name: string },
) {
  const name_key = organization.name.toLowerCase()
  const { id } = await insertOrganization(tx, {
    name_key,
    full_name: '',
    email: '',
    description: '',
    website: '',
    location: '',
    visibility: 'public',
    repo_admin_change_team_access: 0,
    ...TIMES,
    ...organization,
  })
  await claimNames(tx, id, new Set([name_key]))
  return id
}

/** What tests say of a team; its units are an object here. */
export type TeamFields = Partial<Omit<Insertable<TeamsTable>, 'units'>> & {
  readonly units?: Record<string, string>
}

/** Stores a team of an organisation, by way of rows. */
export async function addTeam(
  tx: Tx,
  organization_id: number,
  { units = {}, name = 'team', ...rights }: TeamFields,
  members: readonly number[],
  repositories: readonly number[] = [],
): Promise<void> {
  const { id: team_id } = await tx
    .insertInto('teams')
    .values({
      organization_id,
      name,
      name_key: name.toLowerCase(),
      description: '',
      permission: 'read',
      includes_all_repositories: 0,
      can_create_org_repo: 0,
      visibility: 'limited',
      create_time: 0,
      ...rights,
      units: JSON.stringify(units),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  for (const user_id of new Set(members)) {
    await tx.insertInto('team_members').values({ team_id, user_id }).execute()
    await tx
      .insertInto('organization_members')
      .values({ organization_id, user_id, is_public: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  for (const repository_id of new Set(repositories)) {
    await tx.insertInto('team_repositories').values({ team_id, repository_id }).execute()
  }
}

/** Stores a repository, by way of rows: it has no folder. */
export async function addRepository(
  tx: Tx,
  repository: Partial<NewRepository> & { owner_id: number; name: string },
): Promise<Repository> {
  const id = await insertRepository(tx, {
    name_key: repository.name.toLowerCase(),
    description: '',
    website: '',
    private: 0,
    archive_time: null,
    default_branch: 'main',
    ...TIMES,
    ...repository,
  })
  return tx.selectFrom('repositories').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/**
 * Stores a pull request, by way of rows: its head is a branch of the same repository that nobody
 * else has, and need not be there.
 */
export function addPull(
  tx: Tx,
  pull: Partial<NewPullRequest> & Pick<NewPullRequest, 'repository_id'>,
): Promise<PullRequest> {
  return insertPullRequest(tx, {
    poster_id: null,
    title: 'A change',
    body: '',
    state: 'OPEN',
    base_branch: 'main',
    head_repository_id: pull.repository_id,
    head_branch: randomUUID(),
    head_commit: '1'.repeat(40),
    head_ref_commit: null,
    checked_base: null,
    checked_head: null,
    counted_base: null,
    counted_head: null,
    merge_commit: null,
    merger_id: null,
    merge_time: null,
    milestone_id: null,
    due_time: null,
    allow_maintainer_edit: 0,
    ...TIMES,
    close_time: null,
    ...pull,
  })
}

/** Stores an issue, by way of rows. */
export function addIssue(
  tx: Tx,
  issue: Partial<NewPullRequest> & Pick<NewPullRequest, 'repository_id'>,
): Promise<PullRequest> {
  const empty = { base_branch: '', head_branch: '', head_commit: '', head_repository_id: null }
  return addPull(tx, { title: 'A fault', ...empty, ...issue, is_pull: 0 })
}
