import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Accounts with their names, sessions and tokens. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('users')
    // AUTOINCREMENT never reuses an id. The id is the subject of access tokens.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'text')
    .addColumn('username', 'text', (c) => c.notNull())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('email_key', 'text', (c) => c.notNull())
    .addColumn('display_name', 'text', (c) => c.notNull())
    .addColumn('avatar_url', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('password_hash', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull().check(sql`role in ('ADMIN', 'USER')`))
    .addColumn('state', 'text', (c) => c.notNull().check(sql`state in ('NORMAL', 'ARCHIVED')`))
    .addColumn('token_version', 'integer', (c) => c.notNull().defaultTo(1))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create unique index users_email on users (email_key) where email_key <> ''`.execute(db)
  // For pages of active or all accounts, newest first, with the id as tie-breaker.
  await sql`create index users_by_time on users (create_time, id)`.execute(db)
  await sql`create index users_by_state_and_time on users (state, create_time, id)`.execute(db)
  await sql`create index active_administrators on users (id) where role = 'ADMIN' and state = 'NORMAL'`.execute(
    db,
  )

  await db.schema
    .createTable('user_avatars')
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('content_type', 'text', (c) => c.notNull())
    .addColumn('data', 'blob', (c) => c.notNull())
    .execute()

  // One namespace for chosen ids and usernames, so that no username equals another account's id.
  await db.schema
    .createTable('account_names')
    .addColumn('name_key', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`create index account_names_of_user on account_names (user_id)`.execute(db)

  // Counts for the total_size of lists, so that a list is not scanned.
  await db.schema
    .createTable('user_counts')
    .addColumn('state', 'text', (c) => c.primaryKey())
    .addColumn('count', 'integer', (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into user_counts (state, count) values ('NORMAL', 0), ('ARCHIVED', 0)`.execute(
    db,
  )
  await createTrigger(
    db,
    `user_counted after insert on users begin
    update user_counts set count = count + 1 where state = new.state; end`,
  )
  await createTrigger(
    db,
    `user_uncounted after delete on users begin
    update user_counts set count = count - 1 where state = old.state; end`,
  )
  await createTrigger(
    db,
    `user_recounted after update of state on users when old.state <> new.state begin
    update user_counts set count = count - 1 where state = old.state;
    update user_counts set count = count + 1 where state = new.state; end`,
  )

  await db.schema
    .createTable('create_requests')
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('password_hash', 'text', (c) => c.notNull())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('create_requests_key', ['caller', 'request_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`create index create_requests_by_time on create_requests (create_time)`.execute(db)
  await sql`create index create_requests_of_user on create_requests (user_id)`.execute(db)

  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('token_id', 'text', (c) => c.notNull())
    .addColumn('token_issued_at', 'integer', (c) => c.notNull())
    .addColumn('previous_token_id', 'text')
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .addColumn('user_agent', 'text', (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`create index sessions_of_user on sessions (user_id)`.execute(db)
  await sql`create index sessions_by_expiry on sessions (expire_time)`.execute(db)

  await db.schema
    .createTable('personal_access_tokens')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('uuid', 'text', (c) => c.notNull().unique())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'integer')
    .addColumn('last_used_at', 'integer')
    .execute()
  // For pages in the order of creation.
  await sql`create index personal_access_tokens_of_user on personal_access_tokens (user_id, id)`.execute(
    db,
  )

  await db.schema
    .createTable('instance_keys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('secret', 'blob', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of [
    'instance_keys',
    'personal_access_tokens',
    'sessions',
    'create_requests',
    'user_counts',
    'account_names',
    'user_avatars',
    'users',
  ]) {
    await db.schema.dropTable(table).execute()
  }
}
