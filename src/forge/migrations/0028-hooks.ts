import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Webhooks of repositories, owners and the instance, in the table of webhooks. */
export async function up(db: Tx): Promise<void> {
  const webhooks = () => db.schema.alterTable('user_webhooks')
  await webhooks()
    .addColumn('scope', 'text', (c) =>
      c
        .notNull()
        .defaultTo('account')
        .check(sql`scope in ('account', 'repository', 'owner', 'system')`),
    )
    .execute()
  await webhooks()
    .addColumn('repository_id', 'integer', (c) =>
      c.references('repositories.id').onDelete('cascade'),
    )
    .execute()
  await webhooks()
    .addColumn('owner_id', 'integer', (c) => c.references('accounts.id').onDelete('cascade'))
    .execute()
  for (const column of ['type', 'content_type', 'events', 'branch_filter'])
    await webhooks()
      .addColumn(column, 'text', (c) => c.notNull().defaultTo(''))
      .execute()
  await webhooks().addColumn('authorization_header', 'blob').execute()
  // For the webhooks that receive an event of a repository, and for lists.
  await sql`
    create index user_webhooks_of_repository on user_webhooks (repository_id, id)
    where repository_id is not null
  `.execute(db)
  await sql`
    create index user_webhooks_of_owner on user_webhooks (owner_id, id) where owner_id is not null
  `.execute(db)
  await sql`
    create index user_webhooks_of_system on user_webhooks (id) where scope = 'system'
  `.execute(db)

  const deliveries = () => db.schema.alterTable('webhook_deliveries')
  await deliveries()
    .addColumn('duration_ms', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await deliveries()
    .addColumn('response_body', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await sql`delete from user_webhooks where scope <> 'account'`.execute(db)
  for (const column of ['response_body', 'duration_ms'])
    await db.schema.alterTable('webhook_deliveries').dropColumn(column).execute()
  for (const subject of ['repository', 'owner', 'system'])
    await sql`drop index ${sql.id(`user_webhooks_of_${subject}`)}`.execute(db)
  const columns = [
    'authorization_header',
    'branch_filter',
    'events',
    'content_type',
    'type',
    'owner_id',
    'repository_id',
    'scope',
  ]
  for (const column of columns)
    await db.schema.alterTable('user_webhooks').dropColumn(column).execute()
}
