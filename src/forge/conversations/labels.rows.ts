import type { Insertable } from 'kysely'
import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { grouped } from './conversations.rows.ts'
import type { Label, LabelsTable } from './schema.ts'

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

/**
 * Returns which of some labels the conversations of a repository can have, by their ids.
 *
 * @param owner the ids of the repository and of the organisation that owns it. Null without labels
 *   of an organisation.
 */
export async function findLabelsFor(
  db: Db,
  { repository_id, organization_id }: LabelOwner,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Label>> {
  if (ids.length === 0) return new Map()
  const labels = await db
    .selectFrom('labels')
    .selectAll()
    .where('id', 'in', ids)
    .where((eb) =>
      eb.or([eb('repository_id', '=', repository_id), eb('organization_id', '=', organization_id)]),
    )
    .execute()
  return new Map(labels.map((label) => [label.id, label]))
}

/** Returns the present ones of some labels, by their ids. */
export async function findLabelsByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Label>> {
  if (ids.length === 0) return new Map()
  const labels = await db.selectFrom('labels').selectAll().where('id', 'in', ids).execute()
  return new Map(labels.map((label) => [label.id, label]))
}

/** Replaces the labels of a conversation. All of them exist. */
export async function replaceConversationLabels(
  tx: Tx,
  conversationId: number,
  labelIds: readonly number[],
): Promise<void> {
  await tx.deleteFrom('issue_labels').where('issue_id', '=', conversationId).execute()
  if (labelIds.length === 0) return
  await tx
    .insertInto('issue_labels')
    .values(labelIds.map((label_id) => ({ issue_id: conversationId, label_id })))
    .execute()
}

/**
 * Returns labels by their names. Of several labels with one name, that of the repository precedes,
 * then the oldest.
 */
export async function findLabelsNamed(
  db: Db,
  { repository_id, organization_id }: LabelOwner,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map()
  const labels = await db
    .selectFrom('labels')
    .select(['id', 'name'])
    .where('name', 'in', names)
    .where((eb) =>
      eb.or([eb('repository_id', '=', repository_id), eb('organization_id', '=', organization_id)]),
    )
    .orderBy('organization_id', (order) => order.desc().nullsLast())
    .orderBy('id', 'desc')
    .execute()
  return new Map(labels.map(({ id, name }) => [name, id]))
}

/** Returns the labels of conversations, by the id of the conversation, sorted by name. */
export async function labelsOfConversations(
  db: Db,
  conversationIds: readonly number[],
): Promise<ReadonlyMap<number, Label[]>> {
  if (conversationIds.length === 0) return new Map()
  const rows = await labelsAmong(db, JSON.stringify(conversationIds))
  return grouped(rows.map(({ issue_id, ...label }) => [issue_id, label]))
}

const labelsAmong = prepareQuery((db, conversationIds: string) =>
  db
    .selectFrom('issue_labels')
    .innerJoin('labels', 'labels.id', 'issue_labels.label_id')
    .selectAll('labels')
    .select('issue_labels.issue_id')
    .where('issue_labels.issue_id', 'in', numbersOf(conversationIds))
    .orderBy('labels.name')
    .orderBy('labels.id'),
)
