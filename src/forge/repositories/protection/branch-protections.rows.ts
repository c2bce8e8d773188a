import type { Selectable } from 'kysely'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { BranchProtectionsTable, ProtectionFlag, ProtectionList } from './schema.ts'

/** The boolean settings of a rule, 0 or 1 in rows. */
export const PROTECTION_FLAGS = [
  'enable_push',
  'enable_push_whitelist',
  'push_whitelist_deploy_keys',
  'enable_force_push',
  'enable_force_push_allowlist',
  'force_push_allowlist_deploy_keys',
  'enable_merge_whitelist',
  'enable_bypass_allowlist',
  'enable_status_check',
  'enable_approvals_whitelist',
  'block_on_rejected_reviews',
  'block_on_official_review_requests',
  'block_on_outdated_branch',
  'block_admin_merge_override',
  'dismiss_stale_approvals',
  'ignore_stale_approvals',
  'require_signed_commits',
  'enable_merge_queue',
] as const satisfies readonly ProtectionFlag[]

/**
 * The lists of a rule: who may push, force-push, merge, and merge a pull request that is not ready,
 * and whose approval counts.
 */
export const PROTECTION_LISTS = [
  'push',
  'force_push',
  'merge',
  'bypass',
  'approvals',
] as const satisfies readonly ProtectionList[]

type Row = Selectable<BranchProtectionsTable>

/** The lists of status contexts, JSON arrays in rows. */
const CONTEXT_LISTS = [
  'status_check_contexts',
  'merge_queue_only_contexts',
  'merge_queue_head_contexts',
] as const

type ContextList = (typeof CONTEXT_LISTS)[number]

/** A branch protection. */
export interface BranchProtection
  extends Omit<Row, ProtectionFlag | ContextList>,
    Readonly<Record<ProtectionFlag, boolean>>,
    Readonly<Record<ContextList, readonly string[]>> {}

/** The settings of a rule that can change. */
export type ProtectionSettings = Omit<
  BranchProtection,
  'id' | 'repository_id' | 'create_time' | 'update_time'
>

/** A user or a team on a list of a rule. */
export interface ListedAccount {
  readonly protection_id: number
  readonly list: ProtectionList
  readonly id: number
  readonly name: string
}

/** Users and teams on the lists of rules. */
export interface ListedAccounts {
  readonly users: readonly ListedAccount[]
  readonly teams: readonly ListedAccount[]
}

/** One list of a rule. */
export type Listing = Pick<ListedAccount, 'protection_id' | 'list'>

const rulesOf = prepareQuery((db, repositoryId: number) =>
  db
    .selectFrom('branch_protections')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('id'),
)

const ruleByName = prepareFirst((db, repositoryId: number, name: string) =>
  db
    .selectFrom('branch_protections')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('rule_name', '=', name),
)

const usersOf = prepareQuery((db, repositoryId: number) =>
  db
    .selectFrom('branch_protections')
    .innerJoin('branch_protection_users', 'protection_id', 'branch_protections.id')
    .innerJoin('users', 'users.id', 'branch_protection_users.user_id')
    .select(['protection_id', 'list', 'users.id', 'users.username as name'])
    .where('repository_id', '=', repositoryId)
    .orderBy('users.id'),
)

const teamsOf = prepareQuery((db, repositoryId: number) =>
  selectTeams(db, repositoryId)
    .select(['protection_id', 'list', 'teams.id', 'teams.name'])
    .orderBy('teams.id'),
)

const listingsByName = prepareQuery((db, repositoryId: number, userId: number) =>
  db
    .selectFrom('branch_protections')
    .innerJoin('branch_protection_users', 'protection_id', 'branch_protections.id')
    .select(['protection_id', 'list'])
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId),
)

const listingsByTeam = prepareQuery((db, repositoryId: number, userId: number) =>
  selectTeams(db, repositoryId)
    .innerJoin('team_members', 'team_members.team_id', 'teams.id')
    .select(['protection_id', 'list'])
    .where('team_members.user_id', '=', userId),
)

/**
 * Joins the lists with the teams that have access to the repository, because its owner may have
 * changed.
 */
function selectTeams(db: Db, repositoryId: number) {
  return db
    .selectFrom('branch_protections')
    .innerJoin('branch_protection_teams', 'protection_id', 'branch_protections.id')
    .innerJoin('repositories', 'repositories.id', 'branch_protections.repository_id')
    .innerJoin('teams', (join) =>
      join
        .onRef('teams.id', '=', 'branch_protection_teams.team_id')
        .onRef('teams.organization_id', '=', 'repositories.owner_id'),
    )
    .where('repositories.id', '=', repositoryId)
    .where((eb) =>
      eb.or([
        eb('teams.permission', '=', 'owner'),
        eb('teams.includes_all_repositories', '=', 1),
        eb.exists(
          eb
            .selectFrom('team_repositories')
            .select('team_repositories.team_id')
            .whereRef('team_repositories.team_id', '=', 'teams.id')
            .whereRef('team_repositories.repository_id', '=', 'repositories.id'),
        ),
      ]),
    )
}

/** Returns the rules of a repository, oldest first. */
export async function listBranchProtections(
  db: Db,
  repositoryId: number,
): Promise<BranchProtection[]> {
  return (await rulesOf(db, repositoryId)).map(fromRow)
}

/** Returns the rule with a name. */
export async function findBranchProtection(
  db: Db,
  repositoryId: number,
  name: string,
): Promise<BranchProtection | undefined> {
  const row = await ruleByName(db, repositoryId, name)
  return row && fromRow(row)
}

/** Returns the users and teams on the lists of a repository's rules, by id. */
export async function findListed(db: Db, repositoryId: number): Promise<ListedAccounts> {
  return { users: await usersOf(db, repositoryId), teams: await teamsOf(db, repositoryId) }
}

/** Returns the lists of a repository's rules with a user, by name or as a member of a team. */
export async function findListings(
  db: Db,
  repositoryId: number,
  userId: number,
): Promise<Listing[]> {
  return [
    ...(await listingsByName(db, repositoryId, userId)),
    ...(await listingsByTeam(db, repositoryId, userId)),
  ]
}

/**
 * Inserts a rule with empty lists.
 *
 * @returns the id of the rule
 * @throws a unique violation if the repository has a rule with that name
 */
export async function insertBranchProtection(
  tx: Tx,
  repositoryId: number,
  settings: ProtectionSettings,
  createTime: number,
): Promise<number> {
  const row = {
    ...toRow(settings),
    repository_id: repositoryId,
    create_time: createTime,
    update_time: createTime,
  }
  const { id } = await tx
    .insertInto('branch_protections')
    .values(row)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Updates a rule. */
export async function updateBranchProtection(
  tx: Tx,
  id: number,
  settings: ProtectionSettings,
  updateTime: number,
): Promise<void> {
  const changes = { ...toRow(settings), update_time: updateTime }
  await tx.updateTable('branch_protections').set(changes).where('id', '=', id).execute()
}

/** Replaces the users, or the teams, on a list of a rule. */
export async function setListed(
  tx: Tx,
  kind: keyof ListedAccounts,
  { protection_id, list }: Listing,
  ids: readonly number[],
): Promise<void> {
  if (kind === 'users') {
    const table = 'branch_protection_users'
    await tx
      .deleteFrom(table)
      .where('protection_id', '=', protection_id)
      .where('list', '=', list)
      .execute()
    const rows = ids.map((user_id) => ({ protection_id, list, user_id }))
    if (rows.length > 0) await tx.insertInto(table).values(rows).execute()
  } else {
    const table = 'branch_protection_teams'
    await tx
      .deleteFrom(table)
      .where('protection_id', '=', protection_id)
      .where('list', '=', list)
      .execute()
    const rows = ids.map((team_id) => ({ protection_id, list, team_id }))
    if (rows.length > 0) await tx.insertInto(table).values(rows).execute()
  }
}

/** Changes the priority of a rule. */
export async function setPriority(tx: Tx, id: number, priority: number): Promise<void> {
  await tx.updateTable('branch_protections').set({ priority }).where('id', '=', id).execute()
}

/**
 * Renames a rule, unless another one has the new name.
 *
 * @returns the id of the renamed rule; undefined if no rule was renamed
 */
export async function renameBranchProtection(
  tx: Tx,
  repositoryId: number,
  from: string,
  to: string,
): Promise<number | undefined> {
  if (await findBranchProtection(tx, repositoryId, to)) return undefined
  const renamed = await tx
    .updateTable('branch_protections')
    .set({ rule_name: to })
    .where('repository_id', '=', repositoryId)
    .where('rule_name', '=', from)
    .returning('id')
    .executeTakeFirst()
  return renamed?.id
}

/** @returns whether the rule existed */
export async function deleteBranchProtection(tx: Tx, id: number): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('branch_protections')
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

function fromRow(row: Row): BranchProtection {
  const flags = Object.fromEntries(PROTECTION_FLAGS.map((flag) => [flag, row[flag] === 1]))
  return {
    ...row,
    ...(flags as Record<ProtectionFlag, boolean>),
    ...parsedLists(row),
  }
}

function parsedLists(row: Row): Record<ContextList, string[]> {
  const lists = CONTEXT_LISTS.map((list) => [list, JSON.parse(row[list])])
  return Object.fromEntries(lists) as Record<ContextList, string[]>
}

function toRow(settings: ProtectionSettings) {
  const flags = Object.fromEntries(PROTECTION_FLAGS.map((flag) => [flag, settings[flag] ? 1 : 0]))
  const lists = CONTEXT_LISTS.map((list) => [list, JSON.stringify(settings[list])])
  return {
    rule_name: settings.rule_name,
    priority: settings.priority,
    required_approvals: settings.required_approvals,
    protected_file_patterns: settings.protected_file_patterns,
    unprotected_file_patterns: settings.unprotected_file_patterns,
    commit_message_pattern: settings.commit_message_pattern,
    commit_author_email_pattern: settings.commit_author_email_pattern,
    branch_name_pattern: settings.branch_name_pattern,
    max_file_bytes: settings.max_file_bytes,
    merge_queue_style: settings.merge_queue_style,
    merge_queue_max_group: settings.merge_queue_max_group,
    merge_queue_parallel: settings.merge_queue_parallel,
    merge_queue_wait_seconds: settings.merge_queue_wait_seconds,
    merge_queue_check_timeout_seconds: settings.merge_queue_check_timeout_seconds,
    merge_queue_bypass: settings.merge_queue_bypass,
    ...(flags as Record<ProtectionFlag, number>),
    ...(Object.fromEntries(lists) as Record<ContextList, string>),
  }
}
