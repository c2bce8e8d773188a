import { type Expression, sql } from 'kysely'
import { prepareQuery, textsOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Usage } from './schema.ts'

/** A row for each subject of each rule of each group. A group without rules has one row. */
export interface RuleRow {
  readonly group: string
  readonly rule: string | null
  readonly limit: number | null
  readonly subject: string | null
}

/**
 * Returns the rules of the groups of an owner. An owner without groups has those with the given
 * names.
 *
 * @param defaults JSON array of names of groups.
 */
export const rulesOfOwner = prepareQuery((db, ownerId: number, defaults: string) =>
  selectRules(db, sql`${ownerId}`, defaults),
)

/** Returns the rules of the groups of the owner of a repository, as `rulesOfOwner` does. */
export const rulesOfRepository = prepareQuery((db, id: number, defaults: string) =>
  selectRules(db, sql`(select owner_id from repositories where id = ${id})`, defaults),
)

function selectRules(db: Db, owner: Expression<number>, defaults: string) {
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
    .where((eb) => {
      const own = eb
        .selectFrom('quota_group_members')
        .select('group_id')
        .where('owner_id', '=', owner)
      return eb.or([
        eb('quota_groups.id', 'in', own),
        eb.and([eb('quota_groups.name', 'in', textsOf(defaults)), eb.not(eb.exists(own))]),
      ])
    })
    .orderBy('quota_groups.name')
    .orderBy('quota_rules.name')
    .orderBy('quota_rule_subjects.subject')
}

/** What quotas are compared with: stored bytes, and those of pushes and uploads in progress. */
export interface CountedUsage {
  /** Of the owner. */
  readonly owner: Usage
  /** All bytes of the repository; 0 without one. */
  readonly repository: number
  /** All bytes; 0 unless asked for. */
  readonly instance: number
  /** Whether the first measurement of all repositories is still going on. */
  readonly isUnmeasured: boolean
}

/** Returns what quotas are compared with, as of one moment. @param now in Unix seconds. */
export async function readUsage(
  db: Db,
  ownerId: number,
  repositoryId: number | undefined,
  withInstance: boolean,
  now: number,
): Promise<CountedUsage> {
  const id = repositoryId ?? 0
  const uploads = (condition: ReturnType<typeof sql>) => sql`(select coalesce(sum(bytes), 0)
    from lfs_reservations join repositories on repositories.id = repository_id
    where expire_time > ${now} and ${condition})`
  const reserved = (
    condition: ReturnType<typeof sql>,
  ) => sql`(select coalesce(sum(reserved_bytes), 0)
    from pending_ref_updates join repositories on repositories.id = repository_id where ${condition})`
  const instance = withInstance
    ? sql`(select coalesce(sum(git_bytes + lfs_bytes + asset_bytes), 0) from account_usage)
      + (select coalesce(sum(reserved_bytes), 0) from pending_ref_updates) + ${uploads(sql`1 = 1`)}`
    : sql`0`
  const { rows } = await sql<
    Record<keyof Usage | 'repository' | 'instance' | 'unmeasured', number>
  >`
    select coalesce(git_bytes - private_git_bytes, 0)
        + ${reserved(sql`owner_id = ${ownerId} and private = 0`)} as "public",
      coalesce(private_git_bytes, 0)
        + ${reserved(sql`owner_id = ${ownerId} and private = 1`)} as "private",
      coalesce(lfs_bytes, 0) + ${uploads(sql`owner_id = ${ownerId}`)} as lfs, coalesce(attachment_bytes, 0) as issues,
      coalesce(asset_bytes - attachment_bytes, 0) as releases,
      coalesce((select owned_bytes + lfs_bytes + release_bytes + attachment_bytes
        from repositories where id = ${id}), 0)
        + ${reserved(sql`repository_id = ${id}`)} + ${uploads(sql`repository_id = ${id}`)} as repository,
      ${instance} as instance,
      (select count(*) from repositories where size_stale = 2) as unmeasured
    from (select 1 as one) as one left join account_usage on owner_id = ${ownerId}`.execute(db)
  const [row] = rows
  if (!row) throw new Error('a query without a condition has a row')
  return {
    owner: {
      public: Number(row.public),
      private: Number(row.private),
      lfs: Number(row.lfs),
      issues: Number(row.issues),
      releases: Number(row.releases),
    },
    repository: Number(row.repository),
    instance: Number(row.instance),
    isUnmeasured: Number(row.unmeasured) > 0,
  }
}

/** Some of the repositories whose size is not known. */
interface UnmeasuredPage {
  /** Undefined for those of all owners. */
  readonly ownerId?: number | undefined
  readonly afterId?: number
  readonly limit: number
}

/** Returns repositories whose size is not known, with the state of their size, by id. */
export function listUnmeasured(
  db: Db,
  { ownerId, afterId = 0, limit }: UnmeasuredPage,
): Promise<{ id: number; size_stale: number }[]> {
  return db
    .selectFrom('repositories')
    .select(['id', 'size_stale'])
    .where('size_stale', '>', 0)
    .where('id', '>', afterId)
    .$if(ownerId !== undefined, (query) => query.where('owner_id', '=', ownerId ?? 0))
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** A measured size of a repository. */
export interface MeasuredSize {
  readonly size_kib: number
  readonly owned_bytes: number
  readonly loose_bytes: number
}

/** What a size that is measured now depends on. */
export interface SizeState extends MeasuredSize {
  readonly owner_id: number
  readonly size_stale: number
  /** Bytes of pushes in progress. */
  readonly reserved: number
}

export async function findSizeState(db: Db, id: number): Promise<SizeState | undefined> {
  const row = await db
    .selectFrom('repositories')
    .select((eb) => [
      'owner_id',
      'size_kib',
      'owned_bytes',
      'loose_bytes',
      'size_stale',
      eb
        .selectFrom('pending_ref_updates')
        .select(({ fn }) => fn.sum<number>('reserved_bytes').as('bytes'))
        .whereRef('repository_id', '=', 'repositories.id')
        .as('reserved'),
    ])
    .where('id', '=', id)
    .executeTakeFirst()
  return row && { ...row, reserved: Number(row.reserved ?? 0) }
}

/**
 * Marks the parents and forks of repositories as not measured: the files that they share with a
 * repository that is deleted belong to fewer of them then.
 *
 * @returns the numbers of the marked repositories.
 */
export async function markNetwork(tx: Tx, ids: readonly number[]): Promise<number[]> {
  const marked = await tx
    .updateTable('repositories')
    .set({ size_stale: 1 })
    .where((eb) =>
      eb.or([
        eb('parent_id', 'in', ids),
        eb(
          'id',
          'in',
          eb
            .selectFrom('repositories as gone')
            .select('gone.parent_id')
            .where('gone.id', 'in', ids),
        ),
      ]),
    )
    .where('id', 'not in', ids)
    .returning('id')
    .execute()
  return marked.map(({ id }) => id)
}

/** Adds the bytes of a recorded push to what the owner of a repository uses. */
export async function addOwnedBytes(tx: Tx, id: number, bytes: number): Promise<void> {
  await tx
    .updateTable('repositories')
    .set((eb) => ({ owned_bytes: eb('owned_bytes', '+', bytes) }))
    .where('id', '=', id)
    .execute()
}

/** Ends the reservations of pending updates whose work has ended. */
export async function endReservations(tx: Tx, updateIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('pending_ref_updates')
    .set({ reserved_bytes: 0 })
    .where('id', 'in', updateIds)
    .where('reserved_bytes', '>', 0)
    .execute()
}
