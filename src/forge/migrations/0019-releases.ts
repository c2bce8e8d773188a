import { sql } from 'kysely'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Releases and their files. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('releases')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('tag_name', 'text', (c) => c.notNull())
    .addColumn('tag_only', 'integer', (c) => c.notNull())
    .addColumn('draft', 'integer', (c) => c.notNull())
    .addColumn('prerelease', 'integer', (c) => c.notNull())
    // No foreign key, because a release remains when the account that published it is deleted.
    .addColumn('publisher_id', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('target', 'text', (c) => c.notNull())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('note', 'text', (c) => c.notNull())
    .execute()
  await sql`create unique index releases_by_tag on releases (repository_id, lower(tag_name))`.execute(
    db,
  )
  // Contains the columns that lists filter by, so that a count reads only the index.
  await sql`create index releases_listed on releases (repository_id, create_time, id, draft, prerelease)
    where tag_only = 0`.execute(db)

  // For the tag of a release, which is looked up without regard to case.
  await sql`create index tags_folded on tags (repository_id, lower(name), name)`.execute(db)

  await db.schema
    .createTable('release_assets')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('release_id', 'integer', (c) =>
      c.notNull().references('releases.id').onDelete('cascade'),
    )
    .addColumn('uuid', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('download_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('release_assets_of')
    .on('release_assets')
    .column('release_id')
    .execute()
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropIndex('tags_folded').execute()
  await db.schema.dropTable('release_assets').execute()
  // This also drops its triggers.
  await db.schema.dropTable('releases').execute()
  await sql`update repositories set releases_count = 0`.execute(db)
}

/**
 * Whether a row counts. Drafts do not, because users who may not see drafts must not infer them
 * from the number.
 */
const counts = (row: 'new' | 'old') => `(${row}.draft = 0 and ${row}.tag_only = 0)`

/** Published releases are counted when they are inserted, changed or deleted. */
const TRIGGERS: Readonly<Record<string, string>> = {
  release_counted: `after insert on releases when ${counts('new')} begin
    update repositories set releases_count = releases_count + 1 where id = new.repository_id; end`,
  release_recounted: `after update of draft, tag_only on releases when ${counts('new')} <> ${counts('old')} begin
    update repositories set releases_count = releases_count
      + cast(${counts('new')} as integer) - cast(${counts('old')} as integer)
    where id = new.repository_id; end`,
  release_uncounted: `after delete on releases when ${counts('old')} begin
    update repositories set releases_count = releases_count - 1 where id = old.repository_id; end`,
}
