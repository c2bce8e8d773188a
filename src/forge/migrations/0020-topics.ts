import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Topics of repositories. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('topics')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('public_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index topics_by_count on topics (public_count desc, name) where public_count > 0`.execute(
    db,
  )

  await db.schema
    .createTable('repository_topics')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('topic_id', 'integer', (c) => c.notNull().references('topics.id'))
    .addColumn('is_public', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('repository_topics_key', ['repository_id', 'topic_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('repository_topics_topic')
    .on('repository_topics')
    .columns(['topic_id', 'repository_id'])
    .execute()
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(TRIGGERS)) await dropTrigger(db, name)
  await db.schema.dropTable('repository_topics').execute()
  await db.schema.dropTable('topics').execute()
}

/**
 * Sets whether the repositories of some rows are public. Users who may not read a repository must
 * not infer it from the number.
 */
const publish = (where: string) => `begin
  update repository_topics set is_public = cast(exists (
    select 1 from repositories where id = repository_id and private = 0
    and owner_id not in (select id from users where visibility <> 'public')
    and owner_id not in (select id from organizations where visibility <> 'public')) as integer)
  where ${where}; end`

const OF_OWNER = 'repository_id in (select id from repositories where owner_id = new.id)'

/**
 * Topics are counted when they are added or removed, and when repositories become public or
 * private. A topic without a repository is deleted.
 */
const TRIGGERS: Readonly<Record<string, string>> = {
  repository_topic_added: `after insert on repository_topics ${publish(
    'repository_id = new.repository_id and topic_id = new.topic_id',
  )}`,
  repository_topic_counted: `after update of is_public on repository_topics when new.is_public <> old.is_public begin
    update topics set public_count = public_count + new.is_public - old.is_public where id = new.topic_id; end`,
  repository_topic_removed: `after delete on repository_topics begin
    update topics set public_count = public_count - old.is_public where id = old.topic_id;
    delete from topics where id = old.topic_id
    and not exists (select 1 from repository_topics where topic_id = old.topic_id); end`,
  repository_topics_of_repository: `after update of private, owner_id on repositories
    when new.private <> old.private or new.owner_id <> old.owner_id ${publish('repository_id = new.id')}`,
  repository_topics_of_user: `after update of visibility on users
    when new.visibility <> old.visibility ${publish(OF_OWNER)}`,
  repository_topics_of_organization: `after update of visibility on organizations
    when new.visibility <> old.visibility ${publish(OF_OWNER)}`,
}
