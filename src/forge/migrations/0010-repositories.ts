import { sql } from 'kysely'
import { isPostgres, WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * A common namespace of ids and names for the owners of repositories; repositories, their former
 * names, and their branches.
 */
export async function up(db: Tx): Promise<void> {
  await createAccounts(db)
  await db.schema
    .createTable('repositories')
    // AUTOINCREMENT never reuses an id. The id names a folder, which may remain after a crash.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('owner_id', 'integer', (c) =>
      c.notNull().references('accounts.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('private', 'integer', (c) => c.notNull())
    .addColumn('archive_time', 'integer')
    .addColumn('default_branch', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('website', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addUniqueConstraint('repositories_name_key', ['owner_id', 'name_key'])
    .execute()
  // For lists of the public repositories of an owner.
  await db.schema
    .createIndex('repositories_public')
    .on('repositories')
    .columns(['owner_id', 'name_key'])
    .where(sql.ref('private'), '=', sql.lit(0))
    .execute()

  await db.schema
    .createTable('repository_redirects')
    .addColumn('owner_id', 'integer', (c) =>
      c.notNull().references('accounts.id').onDelete('cascade'),
    )
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('repository_redirects_key', ['owner_id', 'name_key'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For cascading deletes.
  await db.schema
    .createIndex('repository_redirects_target')
    .on('repository_redirects')
    .column('repository_id')
    .execute()

  await db.schema
    .createTable('branches')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('commit_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('branches_key', ['repository_id', 'name'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()

  await db.schema
    .createTable('pending_ref_updates')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .execute()
  await db.schema
    .createIndex('pending_ref_updates_repository')
    .on('pending_ref_updates')
    .column('repository_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['pending_ref_updates', 'branches', 'repository_redirects', 'repositories']) {
    await db.schema.dropTable(table).execute()
  }
  await dropAccounts(db)
}

const ACCOUNT_OF_USER = "select 1 from accounts where id = new.id and kind = 'USER'"
const USER_IS_ACCOUNT = `user_is_account after insert on users begin
    select raise(abort, 'the id of a user is that of an account') where not exists
      (${ACCOUNT_OF_USER}); end`
const POSTGRES_USER_IS_ACCOUNT = `user_is_account after insert on users
    when not exists (${ACCOUNT_OF_USER}) begin
    raise exception 'the id of a user is that of an account'; end`

/**
 * `users` remains, because a table that others refer to cannot be rebuilt. Triggers replace its
 * foreign key.
 */
async function createAccounts(db: Tx): Promise<void> {
  await db.schema
    .createTable('accounts')
    // AUTOINCREMENT never reuses an id. The id of a user is the subject of access tokens.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('kind', 'text', (c) => c.notNull().check(sql`kind in ('USER', 'ORGANIZATION')`))
    .execute()
  await sql`insert into accounts (id, kind) select id, 'USER' from users`.execute(db)
  // Starts after the ids of deleted users too.
  if (isPostgres(db)) {
    await sql`select setval('accounts_id_seq', last_value, is_called) from users_id_seq`.execute(db)
  } else {
    await sql`delete from sqlite_sequence where name = 'accounts'`.execute(db)
    await sql`insert into sqlite_sequence (name, seq) select 'accounts', seq from sqlite_sequence where name = 'users'`.execute(
      db,
    )
  }
  await createTrigger(db, isPostgres(db) ? POSTGRES_USER_IS_ACCOUNT : USER_IS_ACCOUNT)
  await createTrigger(
    db,
    `user_account_deleted after delete on users begin
    delete from accounts where id = old.id; end`,
  )
  await rebuildNames(db, 'account_id', 'accounts.id')
  await sql`create index account_names_of_account on account_names (account_id)`.execute(db)
}

async function dropAccounts(db: Tx): Promise<void> {
  await sql`delete from account_names where account_id not in (select id from users)`.execute(db)
  await rebuildNames(db, 'user_id', 'users.id')
  await sql`create index account_names_of_user on account_names (user_id)`.execute(db)
  await dropTrigger(db, 'user_account_deleted')
  await dropTrigger(db, 'user_is_account')
  await db.schema.dropTable('accounts').execute()
}

/** Rebuilds the table of names with a column for the owner that a name leads to. */
async function rebuildNames(db: Tx, column: string, references: string): Promise<void> {
  await sql`alter table account_names rename to former_names`.execute(db)
  await db.schema
    .createTable('account_names')
    .addColumn('name_key', 'text', (c) => c.primaryKey())
    .addColumn(column, 'integer', (c) => c.notNull().references(references).onDelete('cascade'))
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into account_names select * from former_names`.execute(db)
  await sql`drop table former_names`.execute(db)
}
