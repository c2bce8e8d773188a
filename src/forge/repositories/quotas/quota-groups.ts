import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerByNameKey, findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type Page } from '../../core/names.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './quota-groups.rows.ts'
import { groupsOf } from './quota-limits.ts'
import { findSubject, type QuotaGroup, type QuotaRule, type Subject } from './subjects.ts'

/** The groups and rules of quotas, which administrators of the instance change. */

const MAX_NAME_CHARACTERS = 100
const MAX_RULES_OF_REQUEST = 100

/** A name that fits into a segment of a path and into the list of an option. */
const NAME = new RegExp(`^(?!\\.{1,2}$)[^/,\\p{C}]{1,${MAX_NAME_CHARACTERS}}$`, 'u')

/** A rule to create. */
interface RuleDraft {
  readonly name: string
  readonly limit?: bigint | undefined
  readonly subjects: readonly string[]
}

/** Returns all groups by name. */
export async function listGroups(app: ReposApp): Promise<QuotaGroup[]> {
  return groupsOf(await rows.listGroupRules(app.db))
}

/** @throws QUOTA_GROUP_NOT_FOUND */
export async function getGroup({ db }: { readonly db: Db }, name: string): Promise<QuotaGroup> {
  const [group] = groupsOf(await rows.listGroupRules(db, name))
  if (!group) throw groupNotFound(name)
  return group
}

/**
 * Creates a group, and its rules that do not exist.
 *
 * @throws INVALID_QUOTA, QUOTA_GROUP_EXISTS
 */
export async function createGroup(
  app: ReposApp,
  name: string,
  rules: readonly RuleDraft[],
): Promise<QuotaGroup> {
  checkName(name)
  if (rules.length > MAX_RULES_OF_REQUEST) throw invalid('rules', String(rules.length))
  return transaction(app.db, async (tx) => {
    const id = await rows.insertQuotaGroup(tx, name)
    if (id === undefined) throw new DomainError('QUOTA_GROUP_EXISTS', { group: name })
    for (const rule of rules) {
      const ruleId = (await rows.findRuleId(tx, rule.name)) ?? (await insertRule(tx, rule))
      await rows.insertGroupRule(tx, id, ruleId)
    }
    return getGroup({ db: tx }, name)
  })
}

/** @throws QUOTA_GROUP_NOT_FOUND */
export async function deleteGroup(app: ReposApp, name: string): Promise<void> {
  if (!(await transaction(app.db, (tx) => rows.deleteGroup(tx, name)))) throw groupNotFound(name)
}

/** @throws QUOTA_GROUP_NOT_FOUND, QUOTA_RULE_NOT_FOUND, QUOTA_RULE_EXISTS */
export async function addRuleToGroup(app: ReposApp, group: string, rule: string): Promise<void> {
  await transaction(app.db, async (tx) => {
    const groupId = await requireGroup(tx, group)
    const ruleId = await requireRule(tx, rule)
    if (!(await rows.insertGroupRule(tx, groupId, ruleId)))
      throw new DomainError('QUOTA_RULE_EXISTS', { rule })
  })
}

/** @throws QUOTA_GROUP_NOT_FOUND, QUOTA_RULE_NOT_FOUND */
export async function removeRuleFromGroup(
  app: ReposApp,
  group: string,
  rule: string,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const groupId = await requireGroup(tx, group)
    const ruleId = await requireRule(tx, rule)
    if (!(await rows.deleteGroupRule(tx, groupId, ruleId))) throw ruleNotFound(rule)
  })
}

/** @throws QUOTA_GROUP_NOT_FOUND */
export async function listGroupMembers(
  app: ReposApp,
  group: string,
  page: Page,
): Promise<{ owners: Owner[]; total: number }> {
  const { ids, total } = await rows.listGroupMemberIds(
    app.db,
    await requireGroup(app.db, group),
    page,
  )
  const owners = await findOwnersByIds(app.db, ids)
  return { owners: ids.flatMap((id) => owners.get(id) ?? []), total }
}

/** @throws QUOTA_GROUP_NOT_FOUND, USER_NOT_FOUND, QUOTA_MEMBER_EXISTS */
export async function addGroupMember(app: ReposApp, group: string, name: string): Promise<void> {
  await transaction(app.db, async (tx) => {
    const groupId = await requireGroup(tx, group)
    const { id } = await requireAnyOwner(tx, name)
    if (!(await rows.insertGroupMember(tx, groupId, id)))
      throw new DomainError('QUOTA_MEMBER_EXISTS')
  })
}

/** @throws QUOTA_GROUP_NOT_FOUND, USER_NOT_FOUND, QUOTA_MEMBER_NOT_FOUND */
export async function removeGroupMember(app: ReposApp, group: string, name: string): Promise<void> {
  await transaction(app.db, async (tx) => {
    const groupId = await requireGroup(tx, group)
    const { id } = await requireAnyOwner(tx, name)
    if (!(await rows.deleteGroupMember(tx, groupId, id)))
      throw new DomainError('QUOTA_MEMBER_NOT_FOUND')
  })
}

/**
 * Makes an owner a member of these groups only.
 *
 * @throws USER_NOT_FOUND, QUOTA_GROUP_NOT_FOUND
 */
export async function setGroupsOf(
  app: ReposApp,
  name: string,
  groups: readonly string[],
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await requireAnyOwner(tx, name)
    await rows.deleteMemberships(tx, id)
    for (const group of groups) await rows.insertGroupMember(tx, await requireGroup(tx, group), id)
  })
}

/** Returns all rules by name. */
export async function listRules(app: ReposApp): Promise<readonly QuotaRule[]> {
  return groupsOf(await rows.listRules(app.db)).flatMap(({ rules }) => rules)
}

/** @throws QUOTA_RULE_NOT_FOUND */
export async function getRule({ db }: { readonly db: Db }, name: string): Promise<QuotaRule> {
  const [rule] = groupsOf(await rows.listRules(db, name)).flatMap(({ rules }) => rules)
  if (!rule) throw ruleNotFound(name)
  return rule
}

/** @throws INVALID_QUOTA, QUOTA_RULE_EXISTS */
export async function createRule(app: ReposApp, draft: RuleDraft): Promise<QuotaRule> {
  return transaction(app.db, async (tx) => {
    await insertRule(tx, draft)
    return getRule({ db: tx }, draft.name)
  })
}

/**
 * Changes a rule. An undefined limit stays, and so does an empty list of subjects.
 *
 * @throws QUOTA_RULE_NOT_FOUND, INVALID_QUOTA
 */
export async function editRule(
  app: ReposApp,
  name: string,
  { limit, subjects }: Omit<RuleDraft, 'name'>,
): Promise<QuotaRule> {
  return transaction(app.db, async (tx) => {
    const id = await requireRule(tx, name)
    const bytes = limit === undefined ? undefined : readLimit(limit)
    const parsed = subjects.length > 0 ? readSubjects(subjects) : undefined
    await rows.updateRule(tx, id, bytes, parsed)
    return getRule({ db: tx }, name)
  })
}

/** @throws QUOTA_RULE_NOT_FOUND */
export async function deleteRule(app: ReposApp, name: string): Promise<void> {
  if (!(await transaction(app.db, (tx) => rows.deleteRule(tx, name)))) throw ruleNotFound(name)
}

/**
 * Returns the user or organisation with a name, for administrators, who see all of them.
 *
 * @throws USER_NOT_FOUND
 */
export async function requireAnyOwner(db: Db, name: string): Promise<Owner> {
  const owner = await findOwnerByNameKey(db, nameKey(name))
  if (!owner)
    throw new DomainError('USER_NOT_FOUND', { name: `users/${name.slice(0, MAX_NAME_CHARACTERS)}` })
  return owner
}

/**
 * Returns the subject with a name.
 *
 * @throws INVALID_QUOTA
 */
export function requireSubject(name: string, field: string): Subject {
  const subject = findSubject(name)
  if (!subject) throw invalid(field, name)
  return subject
}

/** The error of a field of a request about quotas. */
export function invalid(field: string, value: string): DomainError {
  return new DomainError('INVALID_QUOTA', { field, value: value.slice(0, MAX_NAME_CHARACTERS) })
}

async function insertRule(tx: Tx, { name, limit, subjects }: RuleDraft): Promise<number> {
  checkName(name)
  if (limit === undefined) throw invalid('limit', '')
  const id = await rows.insertRule(tx, name, readLimit(limit), readSubjects(subjects))
  if (id === undefined) throw new DomainError('QUOTA_RULE_EXISTS', { rule: name })
  return id
}

function checkName(name: string): void {
  if (!NAME.test(name)) throw invalid('name', name)
}

function readLimit(limit: bigint): number {
  const bytes = Number(limit)
  if (!Number.isSafeInteger(bytes) || bytes < -1) throw invalid('limit', String(limit))
  return bytes
}

function readSubjects(names: readonly string[]): Subject[] {
  if (names.length === 0) throw invalid('subjects', '')
  return [...new Set(names)].map((name) => requireSubject(name, 'subjects'))
}

async function requireGroup(db: Db, name: string): Promise<number> {
  const id = await rows.findGroupId(db, name)
  if (id === undefined) throw groupNotFound(name)
  return id
}

async function requireRule(db: Db, name: string): Promise<number> {
  const id = await rows.findRuleId(db, name)
  if (id === undefined) throw ruleNotFound(name)
  return id
}

function groupNotFound(name: string): DomainError {
  return new DomainError('QUOTA_GROUP_NOT_FOUND', { group: name.slice(0, MAX_NAME_CHARACTERS) })
}

function ruleNotFound(name: string): DomainError {
  return new DomainError('QUOTA_RULE_NOT_FOUND', { rule: name.slice(0, MAX_NAME_CHARACTERS) })
}
