import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Permissions on repositories, blocked users, and former names of accounts. */
export async function up(db: Tx): Promise<void> {
  const visibilities = sql`visibility in ('public', 'limited', 'private')`
  await db.schema
    .alterTable('users')
    .addColumn('visibility', 'text', (c) => c.notNull().defaultTo('public').check(visibilities))
    .execute()
  await db.schema
    .alterTable('users')
    .addColumn('restricted', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // For lists of repositories, which leave out those of hidden owners.
  await sql`create index users_hidden on users (id, visibility) where visibility <> 'public'`.execute(
    db,
  )
  // For searches by username, which read nothing else of users that do not match.
  await sql`create index users_by_username on users (state, lower(username), username, display_name, visibility)`.execute(
    db,
  )

  await db.schema
    .createTable('collaborators')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('level', 'text', (c) => c.notNull().check(sql`level in ('read', 'write', 'admin')`))
    .addPrimaryKeyConstraint('collaborators_key', ['repository_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('collaborators_user')
    .on('collaborators')
    .columns(['user_id', 'repository_id'])
    .execute()

  await db.schema
    .createTable('user_blocks')
    .addColumn('blocker_id', 'integer', (c) =>
      c.notNull().references('accounts.id').onDelete('cascade'),
    )
    .addColumn('blocked_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('note', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('user_blocks_key', ['blocker_id', 'blocked_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('user_blocks_blocked')
    .on('user_blocks')
    .column('blocked_id')
    .execute()

  await db.schema
    .createTable('account_redirects')
    .addColumn('name_key', 'text', (c) => c.primaryKey())
    .addColumn('account_id', 'integer', (c) =>
      c.notNull().references('accounts.id').onDelete('cascade'),
    )
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('account_redirects_account')
    .on('account_redirects')
    .column('account_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('account_redirects').execute()
  await db.schema.dropTable('user_blocks').execute()
  await db.schema.dropTable('collaborators').execute()
  await db.schema.dropIndex('users_by_username').execute()
  await db.schema.dropIndex('users_hidden').execute()
  await db.schema.alterTable('users').dropColumn('restricted').execute()
  await db.schema.alterTable('users').dropColumn('visibility').execute()
}
