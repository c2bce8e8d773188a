import type { Insertable, Selectable } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'

export type NewWait = Insertable<Schema['issue_import_waits']>

/** Something that waits, and the issue that is there now. */
export interface EndedWait extends Selectable<Schema['issue_import_waits']> {
  readonly target_id: number
}

/** The number of what may wait for issues of one repository. It bounds what an import stores. */
const MAX_WAITS = 10_000

/** Stores what waits. @returns false if more than the maximum would wait. */
export async function insertWaits(
  tx: Tx,
  repositoryId: number,
  waits: readonly NewWait[],
): Promise<boolean> {
  if (waits.length === 0) return true
  const known = await tx
    .selectFrom('issue_import_waits')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .limit(MAX_WAITS)
    .execute()
  if (known.length + waits.length > MAX_WAITS) return false
  for (let i = 0; i < waits.length; i += 100)
    await tx
      .insertInto('issue_import_waits')
      .values(waits.slice(i, i + 100))
      .execute()
  return true
}

/**
 * Returns what no longer has to wait because of an import: its own, and what waits in other imports of
 * the same user for its issues.
 */
export function endedWaits(
  db: Db,
  { id, repository_id, user_id }: Selectable<Schema['issue_imports']>,
  issueIds: readonly number[],
  limit: number,
): Promise<EndedWait[]> {
  return db
    .selectFrom('issue_import_waits as wait')
    .innerJoin('issue_imports as import', 'import.id', 'wait.import_id')
    .innerJoin('issues as target', (join) =>
      join
        .onRef('target.repository_id', '=', 'wait.repository_id')
        .onRef('target.number', '=', 'wait.number'),
    )
    .selectAll('wait')
    .select('target.id as target_id')
    .where('wait.repository_id', '=', repository_id)
    .where('import.user_id', '=', user_id)
    .where((eb) =>
      eb.or([
        eb('wait.import_id', '=', id),
        eb('target.id', 'in', numbersOf(JSON.stringify(issueIds))),
      ]),
    )
    .orderBy('wait.id')
    .limit(limit)
    .execute()
}

/** Forgets something that waits. @returns false if another request has done so. */
export async function deleteWait(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('issue_import_waits')
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
