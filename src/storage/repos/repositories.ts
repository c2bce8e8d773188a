import type { Generated, Insertable, Selectable } from 'kysely'
import type { Db, Tx } from '../database/database.ts'
import { prepareFirst } from '../database/prepared.ts'

export interface RepositoriesTable {
  /** Names the folder of its Git repository; never given a second time. */
  id: Generated<number>
  /** Of a user or an organisation. */
  owner_id: number
  name: string
  /** The name folded for comparison. */
  name_key: string
  description: string
  website: string
  /** 0 or 1. */
  private: number
  /** Unix seconds; null while it is not archived. */
  archive_time: number | null
  /** Name without `refs/heads/`. Git's HEAD is the truth; this follows. */
  default_branch: string
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
  /**
   * The repository that it was forked from; null when it was not, or when that is gone. One owner
   * has one fork of it at most.
   */
  parent_id: Generated<number | null>
  /** 0 or 1: whether it follows another one elsewhere, which `mirrors` knows. */
  mirror: Generated<number>
  /** Where it was copied from, without credentials; empty when it began here. */
  original_url: Generated<string>
  /** 0 or 1, as are all settings below that are not texts. */
  template: Generated<number>
  /** Units that can be switched off. */
  has_issues: Generated<number>
  has_pull_requests: Generated<number>
  has_releases: Generated<number>
  ignore_whitespace_conflicts: Generated<number>
  allow_merge_commits: Generated<number>
  allow_rebase: Generated<number>
  allow_rebase_explicit: Generated<number>
  allow_squash_merge: Generated<number>
  allow_fast_forward_only_merge: Generated<number>
  allow_merge_update: Generated<number>
  allow_rebase_update: Generated<number>
  allow_manual_merge: Generated<number>
  autodetect_manual_merge: Generated<number>
  default_delete_branch_after_merge: Generated<number>
  default_allow_maintainer_edit: Generated<number>
  default_merge_style: Generated<MergeStyle>
  default_update_style: Generated<UpdateStyle>
  /** Branch that pull requests go to unless they say otherwise; empty for the default branch. */
  default_target_branch: Generated<string>
  /** Of the folder on disk, as last measured. */
  size_kib: Generated<number>
  /** Kept by triggers on `branches`. */
  branch_count: Generated<number>
  /** Kept by triggers on `parent_id`. */
  forks_count: Generated<number>
  /** Kept by triggers on `pull_requests`, as is the next one. */
  open_pulls_count: Generated<number>
  pulls_count: Generated<number>
  /** The number that was given last to a pull request; those are never given twice. */
  last_issue_number: Generated<number>
  releases_count: Generated<number>
}

/** How the commits of a pull request come to its base. */
export type MergeStyle = 'merge' | 'rebase' | 'rebase-merge' | 'squash' | 'fast-forward-only'

/** How the commits of its base come to a pull request. */
export type UpdateStyle = 'merge' | 'rebase'

/** Names that repositories had before. */
export interface RepositoryRedirectsTable {
  owner_id: number
  name_key: string
  repository_id: number
}

export type Repository = Selectable<RepositoriesTable>
export type NewRepository = Insertable<RepositoriesTable>

/** What may change of a repository, besides its name and owner. */
export type RepositoryChanges = Partial<
  Omit<
    Repository,
    'id' | 'owner_id' | 'name' | 'name_key' | 'create_time' | 'branch_count' | 'forks_count'
  >
>

const repositoryByName = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repositories')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', key),
)

const repositoryById = prepareFirst((db, id: number) =>
  db.selectFrom('repositories').selectAll().where('id', '=', id),
)

const redirectByName = prepareFirst((db, ownerId: number, key: string) =>
  db
    .selectFrom('repository_redirects')
    .innerJoin('repositories', 'repositories.id', 'repository_redirects.repository_id')
    .selectAll('repositories')
    .where('repository_redirects.owner_id', '=', ownerId)
    .where('repository_redirects.name_key', '=', key),
)

/** The repository with a folded name. */
export function findRepository(
  db: Db,
  ownerId: number,
  nameKey: string,
): Promise<Repository | undefined> {
  return repositoryByName(db, ownerId, nameKey)
}

export function findRepositoryById(db: Db, id: number): Promise<Repository | undefined> {
  return repositoryById(db, id)
}

/** The repository that had a folded name before, and has another one now. */
export function findRenamedRepository(
  db: Db,
  ownerId: number,
  nameKey: string,
): Promise<Repository | undefined> {
  return redirectByName(db, ownerId, nameKey)
}

/** The repositories with these ids, by id. */
export async function findRepositoriesByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Repository>> {
  if (ids.length === 0) return new Map()
  const found = await db.selectFrom('repositories').selectAll().where('id', 'in', ids).execute()
  return new Map(found.map((repository) => [repository.id, repository]))
}

/** The ids of all repositories of an owner. */
export async function repositoryIdsOf(db: Db, ownerId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('repositories')
    .select('id')
    .where('owner_id', '=', ownerId)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Stores a repository, which takes its name over from one that had it before.
 *
 * @returns its id.
 * @throws a unique violation when the owner has one of that name.
 */
export async function insertRepository(tx: Tx, repository: NewRepository): Promise<number> {
  const { id } = await tx
    .insertInto('repositories')
    .values(repository)
    .returning('id')
    .executeTakeFirstOrThrow()
  await deleteRedirect(tx, repository.owner_id, repository.name_key)
  return id
}

/** Changes a repository that exists. */
export async function updateRepository(
  tx: Tx,
  id: number,
  changes: RepositoryChanges,
): Promise<void> {
  await tx.updateTable('repositories').set(changes).where('id', '=', id).execute()
}

/**
 * Gives a repository another name, another owner, or both. What it was called leads to it from now
 * on.
 *
 * @param from the repository as it is in this transaction.
 * @throws a unique violation when the owner has another one of that name, or another fork of the
 *   same parent.
 */
export async function moveRepository(
  tx: Tx,
  from: Repository,
  to: Pick<Repository, 'owner_id' | 'name' | 'name_key'>,
): Promise<void> {
  const { id, owner_id, name_key } = from
  await tx.updateTable('repositories').set(to).where('id', '=', id).execute()
  await deleteRedirect(tx, to.owner_id, to.name_key)
  if (owner_id === to.owner_id && name_key === to.name_key) return
  await tx
    .insertInto('repository_redirects')
    .values({ owner_id, name_key, repository_id: id })
    .execute()
}

/** Makes the forks of a repository private, and theirs, and so on. */
export async function makeForksPrivate(tx: Tx, id: number): Promise<void> {
  await tx
    .withRecursive('descendants(id)', (db) =>
      db
        .selectFrom('repositories')
        .select('repositories.id')
        .where('parent_id', '=', id)
        .union(
          db
            .selectFrom('repositories')
            .innerJoin('descendants', 'descendants.id', 'repositories.parent_id')
            .select('repositories.id'),
        ),
    )
    .updateTable('repositories')
    .set({ private: 1 })
    .where('id', 'in', (db) => db.selectFrom('descendants').select('descendants.id'))
    .execute()
}

/** Deletes a repository with every row that hangs off it. */
export async function deleteRepository(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('repositories').where('id', '=', id).execute()
}

async function deleteRedirect(tx: Tx, ownerId: number, nameKey: string): Promise<void> {
  await tx
    .deleteFrom('repository_redirects')
    .where('owner_id', '=', ownerId)
    .where('name_key', '=', nameKey)
    .execute()
}
