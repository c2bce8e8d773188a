import { type Kysely, sql } from 'kysely'
import type { Db, Schema } from '../../../platform/database/schema.ts'

/** A page of a list. */
interface Span {
  readonly offset: number
  readonly limit: number
}

/** An uploaded file, and what has the file. */
export interface CountedFile {
  readonly id: number
  readonly name: string
  readonly bytes: number
  readonly repository: string
  /** Null for a file of a release. */
  readonly issue_number: number | null
  readonly is_pull: number | null
  /** Null unless the file belongs to a comment. */
  readonly comment_id: number | null
  /** Null for a file of a conversation. */
  readonly release_id: number | null
  readonly tag_name: string | null
}

/** Returns a page of the uploaded files of an owner, the largest first, and the number of all. */
export async function listCountedFiles(
  db: Db,
  ownerId: number,
  { offset, limit }: Span,
): Promise<{ files: CountedFile[]; total: number }> {
  const found = await filesOf(db, ownerId)
    .selectAll()
    .orderBy('bytes', 'desc')
    .orderBy('issue_number')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await filesOf(db, ownerId)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { files: found, total: Number(total) }
}

function filesOf(db: Kysely<Schema>, ownerId: number) {
  const none = sql<null>`cast(null as bigint)`
  return db.selectFrom((of) =>
    of
      .selectFrom('issue_attachments as file')
      .innerJoin('repositories as repository', 'repository.id', 'file.repository_id')
      .leftJoin('issues as issue', 'issue.id', 'file.issue_id')
      .where('repository.owner_id', '=', ownerId)
      .select([
        'file.id as id',
        'file.name as name',
        'file.bytes as bytes',
        'repository.name as repository',
        'issue.number as issue_number',
        'issue.is_pull as is_pull',
        'file.comment_id as comment_id',
        sql<number | null>`cast(null as bigint)`.as('release_id'),
        sql<string | null>`cast(null as text)`.as('tag_name'),
      ])
      .unionAll(
        of
          .selectFrom('release_assets as file')
          .innerJoin('releases as release', 'release.id', 'file.release_id')
          .innerJoin('repositories as repository', 'repository.id', 'release.repository_id')
          .where('repository.owner_id', '=', ownerId)
          .select([
            'file.id as id',
            'file.name as name',
            'file.bytes as bytes',
            'repository.name as repository',
            none.as('issue_number'),
            none.as('is_pull'),
            none.as('comment_id'),
            'release.id as release_id',
            'release.tag_name as tag_name',
          ]),
      )
      .as('files'),
  )
}

/** What decides the order of a list of usage. */
export type UsageOrder = 'git' | 'lfs' | 'assets' | 'total'

/** The stored bytes of an owner or a repository. */
export interface UsageRow {
  readonly id: number
  readonly name: string
  readonly git: number
  readonly lfs: number
  readonly assets: number
  readonly total: number
}

/** Returns a page of the owners by stored bytes. */
export function listOwnerUsage(
  db: Db,
  order: UsageOrder,
  { offset, limit }: Span,
): Promise<UsageRow[]> {
  return db
    .selectFrom('account_usage')
    .leftJoin('users', 'users.id', 'owner_id')
    .leftJoin('organizations', 'organizations.id', 'owner_id')
    .select([
      'owner_id as id',
      sql<string>`coalesce(users.username, organizations.name, '')`.as('name'),
      'git_bytes as git',
      'lfs_bytes as lfs',
      'asset_bytes as assets',
      sql<number>`git_bytes + lfs_bytes + asset_bytes`.as('total'),
    ])
    .orderBy(order, 'desc')
    .orderBy('owner_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns a page of the repositories by stored bytes. */
export function listRepositoryUsage(
  db: Db,
  order: UsageOrder,
  { offset, limit }: Span,
): Promise<UsageRow[]> {
  return db
    .selectFrom('repositories')
    .leftJoin('users', 'users.id', 'owner_id')
    .leftJoin('organizations', 'organizations.id', 'owner_id')
    .select([
      'repositories.id as id',
      sql<string>`coalesce(users.username, organizations.name, '') || '/' || repositories.name`.as(
        'name',
      ),
      'owned_bytes as git',
      'lfs_bytes as lfs',
      sql<number>`release_bytes + attachment_bytes`.as('assets'),
      sql<number>`owned_bytes + lfs_bytes + release_bytes + attachment_bytes`.as('total'),
    ])
    .orderBy(order, 'desc')
    .orderBy('repositories.id')
    .limit(limit)
    .offset(offset)
    .execute()
}
