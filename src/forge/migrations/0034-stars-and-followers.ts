import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Numbers that lists and profiles show. Triggers keep them, so no read counts thousands of rows. */
const COUNTERS = [
  { table: 'repositories', column: 'stars_count' },
  { table: 'users', column: 'stars_count' },
  { table: 'users', column: 'followers_count' },
  { table: 'users', column: 'following_count' },
] as const

const TRIGGERS: Readonly<Record<string, string>> = {
  star_counted: `after insert on stars begin
    update repositories set stars_count = stars_count + 1 where id = new.repository_id;
    update users set stars_count = stars_count + 1 where id = new.user_id; end`,
  star_uncounted: `after delete on stars begin
    update repositories set stars_count = stars_count - 1 where id = old.repository_id;
    update users set stars_count = stars_count - 1 where id = old.user_id; end`,
  follow_counted: `after insert on follows begin
    update users set followers_count = followers_count + 1 where id = new.followed_id;
    update users set following_count = following_count + 1 where id = new.follower_id; end`,
  follow_uncounted: `after delete on follows begin
    update users set followers_count = followers_count - 1 where id = old.followed_id;
    update users set following_count = following_count - 1 where id = old.follower_id; end`,
}

/** Repositories that users have starred, and users that they follow. */
export async function up(db: Tx): Promise<void> {
  for (const { table, column } of COUNTERS)
    await db.schema
      .alterTable(table)
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  // For the search sorted by stars.
  await sql`create index repositories_by_stars on repositories (stars_count, id)`.execute(db)

  await db.schema
    .createTable('stars')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('stars_key', ['user_id', 'repository_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the starred repositories of a user, and for the stargazers of a repository.
  await sql`create index stars_of_user on stars (user_id, create_time, repository_id)`.execute(db)
  await sql`
    create index stars_of_repository on stars (repository_id, create_time, user_id)
  `.execute(db)

  await db.schema
    .createTable('follows')
    .addColumn('follower_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('followed_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('follows_key', ['follower_id', 'followed_id'])
    .addCheckConstraint('follows_another', sql`follower_id <> followed_id`)
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the users that a user follows, and for the followers of a user.
  await sql`create index follows_of_user on follows (follower_id, create_time, followed_id)`.execute(
    db,
  )
  await sql`
    create index follows_by_followed on follows (followed_id, create_time, follower_id)
  `.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  for (const table of ['stars', 'follows']) await db.schema.dropTable(table).execute()
  await db.schema.dropIndex('repositories_by_stars').execute()
  for (const { table, column } of COUNTERS)
    await db.schema.alterTable(table).dropColumn(column).execute()
}
