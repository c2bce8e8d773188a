import { type Insertable, sql } from 'kysely'
import { containsSql, startsWithSql } from '../../../platform/database/database.ts'
import { either } from '../../../platform/database/dialects/dialects.ts'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Branch, BranchRename, PendingRefUpdatesTable } from '../schema.ts'

/** Returns the branch with a name. */
export const findBranch = prepareFirst((db, repositoryId: number, name: string) =>
  db
    .selectFrom('branches')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name),
)

/** Returns the pending updates of a repository. */
export const pendingRefUpdatesOf = prepareQuery((db, repositoryId: number) =>
  db.selectFrom('pending_ref_updates').selectAll().where('repository_id', '=', repositoryId),
)

const branchCount = prepareFirst((db, repositoryId: number) =>
  db.selectFrom('repositories').select('branch_count').where('id', '=', repositoryId),
)

/** Returns the branches that exist, by repository id and name. */
export function findBranches(
  db: Db,
  names: readonly (readonly [number, string])[],
): Promise<Branch[]> {
  if (names.length === 0) return Promise.resolve([])
  return branchesByName(db, JSON.stringify(names))
}

/** Returns the pairs of a JSON array of ids and names. */
function pairsOf(json: string) {
  return either({
    sqlite: sql`(select value ->> 0, value ->> 1 from json_each(${json}))`,
    postgres: sql`(select (value ->> 0)::bigint, value ->> 1 from json_array_elements(${json}::json))`,
  })
}

const branchesByName = prepareQuery((db, names: string) =>
  db
    .selectFrom('branches')
    .selectAll()
    .where(sql<boolean>`(repository_id, name) in ${pairsOf(names)}`),
)

/**
 * Returns the branches whose names contain a text, in upper or lower case; latest commit first,
 * then by name.
 */
export function pageOfBranches(
  db: Db,
  repositoryId: number,
  part: string,
  offset: number,
  limit: number,
): Promise<Branch[]> {
  return db
    .selectFrom('branches')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .$if(part !== '', (query) => query.where((eb) => containsSql(eb.ref('name'), part)))
    .orderBy('commit_time', 'desc')
    .orderBy('name')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the first names of branches, by name, that begin with a text. Case counts. */
export async function branchNamesFrom(
  db: Db,
  repositoryId: number,
  begin: string,
  limit: number,
): Promise<string[]> {
  const found = await db
    .selectFrom('branches')
    .select('name')
    .where('repository_id', '=', repositoryId)
    .where(({ ref }) => startsWithSql(ref('name'), begin))
    .orderBy('name')
    .limit(limit)
    .execute()
  return found.map(({ name }) => name)
}

/** Returns the number of branches in that list. Triggers maintain the number of all branches. */
export async function countBranches(db: Db, repositoryId: number, part: string): Promise<number> {
  if (part === '') return (await branchCount(db, repositoryId))?.branch_count ?? 0
  const { count } = await db
    .selectFrom('branches')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .where((eb) => containsSql(eb.ref('name'), part))
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts or updates branches. */
export async function putBranches(tx: Tx, branches: readonly Branch[]): Promise<void> {
  if (branches.length === 0) return
  await tx
    .insertInto('branches')
    .values(branches)
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'name']).doUpdateSet((eb) => ({
        commit_id: eb.ref('excluded.commit_id'),
        commit_time: eb.ref('excluded.commit_time'),
      })),
    )
    .execute()
}

/** Deletes the branches that exist. */
export async function deleteBranches(
  tx: Tx,
  repositoryId: number,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await tx
    .deleteFrom('branches')
    .where('repository_id', '=', repositoryId)
    .where('name', 'in', names)
    .execute()
}

/** Records a pending update of refs and returns its id. */
export async function insertPendingRefUpdate(
  tx: Tx,
  update: Insertable<PendingRefUpdatesTable>,
): Promise<number> {
  const { id } = await tx
    .insertInto('pending_ref_updates')
    .values(update)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function forgetPusher(tx: Tx, updateId: number): Promise<void> {
  await tx
    .updateTable('pending_ref_updates')
    .set({ pusher_id: null })
    .where('id', '=', updateId)
    .execute()
}

export async function deletePendingRefUpdates(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.deleteFrom('pending_ref_updates').where('id', 'in', ids).execute()
}

/** Returns the ids of the repositories with pending updates. */
export async function repositoriesWithPendingRefUpdates(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('pending_ref_updates')
    .select('repository_id')
    .distinct()
    .execute()
  return rows.map(({ repository_id }) => repository_id)
}

/** Returns the rename of a branch name, completed or pending; undefined if there is none. */
export const findBranchRename = prepareFirst((db, repositoryId: number, oldName: string) =>
  db
    .selectFrom('branch_renames')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('old_name', '=', oldName),
)

/** Returns the renames of pending updates. */
export function listRenamesOf(db: Db, updateIds: readonly number[]): Promise<BranchRename[]> {
  return db
    .selectFrom('branch_renames')
    .selectAll()
    .where('pending_update_id', 'in', updateIds)
    .execute()
}

/** Records a pending rename of a branch. It replaces an earlier rename of the old name. */
export async function putBranchRename(tx: Tx, rename: BranchRename): Promise<void> {
  await tx
    .insertInto('branch_renames')
    .values(rename)
    .onConflict((conflict) => conflict.columns(['repository_id', 'old_name']).doUpdateSet(rename))
    .execute()
}

/**
 * Records a completed rename. Former names of the branch lead to the new name, and a rename of the
 * new name is removed.
 */
export async function settleBranchRename(
  tx: Tx,
  { repository_id, old_name, new_name }: BranchRename,
): Promise<void> {
  await deleteBranchRename(tx, { repository_id, old_name: new_name })
  const ofRepository = tx.updateTable('branch_renames').where('repository_id', '=', repository_id)
  await ofRepository.set({ pending_update_id: null }).where('old_name', '=', old_name).execute()
  await ofRepository.set({ new_name }).where('new_name', '=', old_name).execute()
}

/** Removes the rename of a former branch name. */
export async function deleteBranchRename(
  tx: Tx,
  { repository_id, old_name }: Pick<BranchRename, 'repository_id' | 'old_name'>,
): Promise<void> {
  await tx
    .deleteFrom('branch_renames')
    .where('repository_id', '=', repository_id)
    .where('old_name', '=', old_name)
    .execute()
}

/** The kinds of refs with an index in the database. */
export type IndexedRefs = 'branches' | 'tags'

/** A branch or tag, and the id of the object that it points to. */
interface HeldRef {
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string
  readonly object_id: string
}

/** Returns the indexed refs of a repository: all of them, or those with some names; in no order. */
export function listHeldRefs(
  db: Db,
  table: IndexedRefs,
  repositoryId: number,
  names?: readonly string[],
): Promise<HeldRef[]> {
  const id = table === 'branches' ? 'commit_id' : 'object_id'
  return db
    .selectFrom(table)
    .select(['name', sql.ref<string>(id).as('object_id')])
    .where('repository_id', '=', repositoryId)
    .$if(names !== undefined, (query) => query.where('name', 'in', names ?? []))
    .execute()
}

/** Returns the name of a ref below a path, as `a/b` is below `a`, if there is one. */
export async function refNameBelow(
  db: Db,
  table: IndexedRefs,
  repositoryId: number,
  path: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom(table)
    .select('name')
    .where('repository_id', '=', repositoryId)
    // All names from the slash to the next character.
    .where('name', '>=', `${path}/`)
    .where('name', '<', `${path}0`)
    .limit(1)
    .executeTakeFirst()
  return row?.name
}
