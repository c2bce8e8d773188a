import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** What users watch: repositories, and single pull requests. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('watchers_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('repository_subscriptions')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('mode', 'text', (c) => c.notNull().check(sql`mode in ('WATCHING', 'IGNORED')`))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('repository_subscriptions_key', ['repository_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the repositories that a user watches, and for the deletion of an account.
  await sql`create index repository_subscriptions_of_user
    on repository_subscriptions (user_id, repository_id)`.execute(db)
  for (const trigger of COUNTING) await createTrigger(db, trigger)
  await db.schema
    .createTable('pull_subscriptions')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('subscribed', 'integer', (c) => c.notNull().check(sql`subscribed in (0, 1)`))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('pull_subscriptions_key', ['pull_request_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the deletion of an account.
  await sql`create index pull_subscriptions_of_user on pull_subscriptions (user_id)`.execute(db)
  // Users watch what they create. Of older repositories, only the owner is known.
  await sql`insert into repository_subscriptions (repository_id, user_id, mode, create_time)
    select repositories.id, users.id, 'WATCHING', repositories.create_time
    from repositories inner join users on users.id = repositories.owner_id`.execute(db)
}

const COUNTING: readonly string[] = [
  `repository_subscriptions_counted after insert on repository_subscriptions begin
    update repositories set watchers_count = watchers_count + cast(new.mode = 'WATCHING' as integer)
    where id = new.repository_id; end`,
  `repository_subscriptions_recounted after update of mode on repository_subscriptions begin
    update repositories set watchers_count = watchers_count
      - cast(old.mode = 'WATCHING' as integer) + cast(new.mode = 'WATCHING' as integer)
    where id = new.repository_id; end`,
  `repository_subscriptions_discounted after delete on repository_subscriptions begin
    update repositories set watchers_count = watchers_count - cast(old.mode = 'WATCHING' as integer)
    where id = old.repository_id; end`,
]

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('pull_subscriptions').execute()
  for (const event of ['counted', 'recounted', 'discounted'])
    await dropTrigger(db, `repository_subscriptions_${event}`)
  await db.schema.dropTable('repository_subscriptions').execute()
  await db.schema.alterTable('repositories').dropColumn('watchers_count').execute()
}
