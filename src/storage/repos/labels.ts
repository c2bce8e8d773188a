import type { Insertable } from 'kysely'
import type { Label, LabelsTable } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** Whose a label is. */
export type LabelOwner = Pick<LabelsTable, 'repository_id' | 'organization_id'>

/** What there is to say about a label, besides whose it is. */
export type NewLabel = Omit<Insertable<LabelsTable>, 'id' | keyof LabelOwner>
export type LabelChanges = Partial<NewLabel>

/** Labels by name, and by number where names are equal. */
export function listLabels(
  db: Db,
  owner: LabelOwner,
  offset: number,
  limit: number,
): Promise<Label[]> {
  return labelsOf(db, owner)
    .selectAll()
    .orderBy('name')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** How many there are in that list. */
export async function countLabels(db: Db, owner: LabelOwner): Promise<number> {
  const { count } = await labelsOf(db, owner)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export function findLabel(db: Db, owner: LabelOwner, id: number): Promise<Label | undefined> {
  return labelsOf(db, owner).selectAll().where('id', '=', id).executeTakeFirst()
}

export function insertLabel(tx: Tx, owner: LabelOwner, label: NewLabel): Promise<Label> {
  return tx
    .insertInto('labels')
    .values({ ...owner, ...label })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Changes a label that exists. */
export function updateLabel(tx: Tx, id: number, changes: LabelChanges): Promise<Label> {
  return tx
    .updateTable('labels')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a label with every row that hangs off it. */
export async function deleteLabel(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('labels').where('id', '=', id).execute()
}

function labelsOf(db: Db, { repository_id, organization_id }: LabelOwner) {
  const labels = db.selectFrom('labels')
  return repository_id === null
    ? labels.where('organization_id', '=', organization_id)
    : labels.where('repository_id', '=', repository_id)
}
