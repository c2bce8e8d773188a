import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { RuleRow } from './quotas.rows.ts'

/** Groups, rules and members of quotas. */

/** Returns groups with their rules; all groups without a name. */
export function listGroupRules(db: Db, name?: string): Promise<RuleRow[]> {
  return db
    .selectFrom('quota_groups')
    .leftJoin('quota_group_rules', 'quota_group_rules.group_id', 'quota_groups.id')
    .leftJoin('quota_rules', 'quota_rules.id', 'quota_group_rules.rule_id')
    .leftJoin('quota_rule_subjects', 'quota_rule_subjects.rule_id', 'quota_rules.id')
    .select([
      'quota_groups.name as group',
      'quota_rules.name as rule',
      'quota_rules.limit_bytes as limit',
      'quota_rule_subjects.subject as subject',
    ])
    .$if(name !== undefined, (query) => query.where('quota_groups.name', '=', name ?? ''))
    .orderBy('quota_groups.name')
    .orderBy('quota_rules.name')
    .orderBy('quota_rule_subjects.subject')
    .execute()
}

/** Returns rules with their subjects, as the rules of one group; all rules without a name. */
export async function listRules(db: Db, name?: string): Promise<RuleRow[]> {
  const rows = await db
    .selectFrom('quota_rules')
    .leftJoin('quota_rule_subjects', 'rule_id', 'id')
    .select(['name as rule', 'limit_bytes as limit', 'subject'])
    .$if(name !== undefined, (query) => query.where('name', '=', name ?? ''))
    .orderBy('name')
    .orderBy('subject')
    .execute()
  return rows.map((row) => ({ group: '', ...row }))
}

/** Returns the number of a group. */
export async function findGroupId(db: Db, name: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('quota_groups')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.id
}

/** Returns the number of a rule. */
export async function findRuleId(db: Db, name: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('quota_rules')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.id
}

/** Returns the number of the new group; undefined if the name is in use. */
export async function insertQuotaGroup(tx: Tx, name: string): Promise<number | undefined> {
  const row = await tx
    .insertInto('quota_groups')
    .values({ name })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** Returns the number of the new rule; undefined if the name is in use. */
export async function insertRule(
  tx: Tx,
  name: string,
  limit: number,
  subjects: readonly string[],
): Promise<number | undefined> {
  const row = await tx
    .insertInto('quota_rules')
    .values({ name, limit_bytes: limit })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (row) await insertSubjects(tx, row.id, subjects)
  return row?.id
}

/** Changes a rule. What is undefined stays. */
export async function updateRule(
  tx: Tx,
  id: number,
  limit: number | undefined,
  subjects: readonly string[] | undefined,
): Promise<void> {
  if (limit !== undefined)
    await tx.updateTable('quota_rules').set({ limit_bytes: limit }).where('id', '=', id).execute()
  if (!subjects) return
  await tx.deleteFrom('quota_rule_subjects').where('rule_id', '=', id).execute()
  await insertSubjects(tx, id, subjects)
}

async function insertSubjects(tx: Tx, ruleId: number, subjects: readonly string[]): Promise<void> {
  await tx
    .insertInto('quota_rule_subjects')
    .values(subjects.map((subject) => ({ rule_id: ruleId, subject })))
    .execute()
}

/** @returns whether there was such a group. */
export async function deleteGroup(tx: Tx, name: string): Promise<boolean> {
  const gone = await tx.deleteFrom('quota_groups').where('name', '=', name).executeTakeFirst()
  return gone.numDeletedRows > 0n
}

/** @returns whether there was such a rule. */
export async function deleteRule(tx: Tx, name: string): Promise<boolean> {
  const gone = await tx.deleteFrom('quota_rules').where('name', '=', name).executeTakeFirst()
  return gone.numDeletedRows > 0n
}

/** @returns false if the group has the rule already. */
export async function insertGroupRule(tx: Tx, groupId: number, ruleId: number): Promise<boolean> {
  const added = await tx
    .insertInto('quota_group_rules')
    .values({ group_id: groupId, rule_id: ruleId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** @returns whether the group had the rule. */
export async function deleteGroupRule(tx: Tx, groupId: number, ruleId: number): Promise<boolean> {
  const gone = await tx
    .deleteFrom('quota_group_rules')
    .where('group_id', '=', groupId)
    .where('rule_id', '=', ruleId)
    .executeTakeFirst()
  return gone.numDeletedRows > 0n
}

/** @returns false if the owner is in the group already. */
export async function insertGroupMember(
  tx: Tx,
  groupId: number,
  ownerId: number,
): Promise<boolean> {
  const added = await tx
    .insertInto('quota_group_members')
    .values({ group_id: groupId, owner_id: ownerId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** @returns whether the owner was in the group. */
export async function deleteGroupMember(
  tx: Tx,
  groupId: number,
  ownerId: number,
): Promise<boolean> {
  const gone = await tx
    .deleteFrom('quota_group_members')
    .where('group_id', '=', groupId)
    .where('owner_id', '=', ownerId)
    .executeTakeFirst()
  return gone.numDeletedRows > 0n
}

/** Removes an owner from all groups. */
export async function deleteMemberships(tx: Tx, ownerId: number): Promise<void> {
  await tx.deleteFrom('quota_group_members').where('owner_id', '=', ownerId).execute()
}

/** Returns a page of the numbers of the owners in a group, and the number of all. */
export async function listGroupMemberIds(
  db: Db,
  groupId: number,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<{ ids: number[]; total: number }> {
  const members = db.selectFrom('quota_group_members').where('group_id', '=', groupId)
  const found = await members
    .select('owner_id')
    .orderBy('owner_id')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await members
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { ids: found.map(({ owner_id }) => owner_id), total: Number(total) }
}
