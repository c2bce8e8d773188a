import type { Generated, Selectable } from 'kysely'
import type { Db, Tx } from './database.ts'

/** What the branches of a repository point to. Git is the truth; this follows, and answers lists without opening Git. */
export interface BranchesTable {
  repository_id: number
  /** Without `refs/heads/`. */
  name: string
  /** 40 hexadecimal digits. */
  commit_id: string
  /** Committer's time of the commit, Unix seconds. */
  commit_time: number
}

/** Updates of refs that were about to be made. A row that is left over means that branches have to be read from Git. */
export interface PendingRefUpdatesTable {
  id: Generated<number>
  repository_id: number
}

export type Branch = Selectable<BranchesTable>

/** The numbers of branches of repositories, by id; those without any are left out. */
export async function countBranchesOf(db: Db, repositoryIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (repositoryIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('branches')
    .select(['repository_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('repository_id', 'in', repositoryIds)
    .groupBy('repository_id')
    .execute()
  return new Map(rows.map(({ repository_id, count }) => [repository_id, count]))
}

/** All branches of a repository, by name. */
export function listBranches(db: Db, repositoryId: number): Promise<Branch[]> {
  return db.selectFrom('branches').selectAll().where('repository_id', '=', repositoryId).orderBy('name').execute()
}

/** Stores what a branch points to. */
export async function putBranch(tx: Tx, branch: Branch): Promise<void> {
  const { commit_id, commit_time } = branch
  await tx
    .insertInto('branches')
    .values(branch)
    .onConflict((conflict) => conflict.columns(['repository_id', 'name']).doUpdateSet({ commit_id, commit_time }))
    .execute()
}

/** Forgets a branch; one that is not known is no error. */
export async function deleteBranch(tx: Tx, repositoryId: number, name: string): Promise<void> {
  await tx.deleteFrom('branches').where('repository_id', '=', repositoryId).where('name', '=', name).execute()
}

/** Notes that refs are about to be updated, and returns the number of the note. */
export async function insertPendingRefUpdate(tx: Tx, repositoryId: number): Promise<number> {
  const { id } = await tx
    .insertInto('pending_ref_updates')
    .values({ repository_id: repositoryId })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function deletePendingRefUpdate(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('pending_ref_updates').where('id', '=', id).execute()
}

/** All notes, oldest first. */
export function listPendingRefUpdates(db: Db): Promise<Selectable<PendingRefUpdatesTable>[]> {
  return db.selectFrom('pending_ref_updates').selectAll().orderBy('id').execute()
}
