import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Changes of pull requests of which users are yet to be told, and what they have been told. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('user_settings')
    .addColumn('email_notifications', 'text', (c) =>
      c
        .notNull()
        .defaultTo('enabled')
        .check(sql`email_notifications in ('enabled', 'onmention', 'disabled')`),
    )
    .execute()
  await db.schema
    .createTable('pull_notices')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('actor_id', 'integer')
    .addColumn('comment_id', 'integer')
    .addColumn('review_id', 'integer')
    .addColumn('told', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .addColumn('last_user_id', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('due_time', 'integer', (c) => c.notNull())
    .execute()
  // For the worker, and for the deletion of a pull request.
  await db.schema.createIndex('pull_notices_due').on('pull_notices').column('due_time').execute()
  await db.schema
    .createIndex('pull_notices_of_pull')
    .on('pull_notices')
    .column('pull_request_id')
    .execute()

  await db.schema
    .createTable('notification_threads')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('status', 'text', (c) =>
      c.notNull().check(sql`status in ('UNREAD', 'READ', 'PINNED')`),
    )
    .addColumn('reason', 'text', (c) =>
      c
        .notNull()
        .check(
          sql`reason in ('MENTION', 'REVIEW_REQUESTED', 'ASSIGN', 'PARTICIPATING', 'SUBSCRIBED')`,
        ),
    )
    .addColumn('comment_id', 'integer')
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('mail_items', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('mail_time', 'integer')
    .addColumn('last_mail_time', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('mail_failures', 'integer', (c) => c.notNull().defaultTo(0))
    // A user has one thread for a pull request. Also for its deletion.
    .addUniqueConstraint('notification_threads_key', ['pull_request_id', 'user_id'])
    .execute()
  // For all threads of a user, for those in some states, and for the number of unread ones.
  await sql`create index notification_threads_of_user
    on notification_threads (user_id, update_time, id)`.execute(db)
  await sql`create index notification_threads_in_status
    on notification_threads (user_id, status, update_time, id)`.execute(db)
  // For the threads of a user about one repository, and for the deletion of a repository.
  await sql`create index notification_threads_of_repository
    on notification_threads (repository_id, user_id, update_time, id)`.execute(db)
  // For the worker that sends mails.
  await sql`create index notification_threads_mail
    on notification_threads (mail_time) where mail_time is not null`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('notification_threads').execute()
  await db.schema.dropTable('pull_notices').execute()
  await db.schema.alterTable('user_settings').dropColumn('email_notifications').execute()
}
