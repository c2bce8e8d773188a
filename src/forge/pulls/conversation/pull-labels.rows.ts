import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import type { Label } from '../../repositories/schema.ts'

/**
 * Returns which of some labels the pull requests of a repository can have, by their ids.
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

/** Replaces the labels of a pull request. All of them exist. */
export async function replacePullLabels(
  tx: Tx,
  pullId: number,
  labelIds: readonly number[],
): Promise<void> {
  await tx.deleteFrom('pull_request_labels').where('pull_request_id', '=', pullId).execute()
  if (labelIds.length === 0) return
  await tx
    .insertInto('pull_request_labels')
    .values(labelIds.map((label_id) => ({ pull_request_id: pullId, label_id })))
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
