import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Label, LabelsTable } from '../repositories/schema.ts'

/** The repository or organisation of a label. */
export type LabelOwner = Pick<LabelsTable, 'repository_id' | 'organization_id'>

/** The fields of a label without its owner. */
export type NewLabel = Omit<Insertable<LabelsTable>, 'id' | keyof LabelOwner>
export type LabelChanges = Partial<NewLabel>

/** Returns labels, sorted by name and id. */
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

/** Returns the number of labels in that list. */
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

/** Updates a label. */
export function updateLabel(tx: Tx, id: number, changes: LabelChanges): Promise<Label> {
  return tx
    .updateTable('labels')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a label and its dependent rows. */
export async function deleteLabel(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('labels').where('id', '=', id).execute()
}

function labelsOf(db: Db, { repository_id, organization_id }: LabelOwner) {
  const labels = db.selectFrom('labels')
  return repository_id === null
    ? labels.where('organization_id', '=', organization_id)
    : labels.where('repository_id', '=', repository_id)
}
