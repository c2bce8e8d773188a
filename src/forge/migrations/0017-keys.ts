import { sql } from 'kysely'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Keys of accounts and repositories, and the parts of tokens that clients display. */
export async function up(db: Tx): Promise<void> {
  await createPublicKeys(db)
  await createDeployKeys(db)
  await createGpgKeys(db)
  await sql`alter table personal_access_tokens add column last_eight text not null default ''`.execute(
    db,
  )
}

export async function down(db: Tx): Promise<void> {
  await sql`alter table personal_access_tokens drop column last_eight`.execute(db)
  for (const table of ['gpg_certificates', 'gpg_keys', 'deploy_keys', 'public_keys']) {
    await db.schema.dropTable(table).execute()
  }
}

async function createPublicKeys(db: Tx): Promise<void> {
  await db.schema
    .createTable('public_keys')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.references('users.id').onDelete('cascade'))
    .addColumn('fingerprint', 'text', (c) => c.notNull().unique())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('line', 'text', (c) => c.notNull())
    .addColumn('read_only', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  // For pages in the order of creation.
  await sql`create index public_keys_of_user on public_keys (user_id, id)`.execute(db)
  await sql`create unique index public_keys_title on public_keys (user_id, title) where user_id is not null`.execute(
    db,
  )
}

async function createDeployKeys(db: Tx): Promise<void> {
  await db.schema
    .createTable('deploy_keys')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('key_id', 'integer', (c) => c.notNull().references('public_keys.id'))
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('line', 'text', (c) => c.notNull())
    .addColumn('read_only', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('deploy_keys_key', ['repository_id', 'key_id'])
    .addUniqueConstraint('deploy_keys_title', ['repository_id', 'title'])
    .execute()
  await sql`create index deploy_keys_of_repository on deploy_keys (repository_id, id)`.execute(db)
  await sql`create index deploy_keys_of_key on deploy_keys (key_id)`.execute(db)
  // The deletion of a repository deletes its deploy keys. The last deploy key deletes the public
  // key, which others can then add.
  await createTrigger(
    db,
    `deploy_key_forgotten after delete on deploy_keys
    when not exists (select 1 from deploy_keys where key_id = old.key_id) begin
    delete from public_keys where id = old.key_id; end`,
  )
}

async function createGpgKeys(db: Tx): Promise<void> {
  await db.schema
    .createTable('gpg_keys')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('primary_id', 'integer', (c) => c.references('gpg_keys.id').onDelete('cascade'))
    .addColumn('key_id', 'text', (c) => c.notNull())
    .addColumn('fingerprint', 'text', (c) => c.notNull())
    .addColumn('packet', 'text', (c) => c.notNull())
    .addColumn('flags', 'integer', (c) => c.notNull())
    .addColumn('emails', 'text', (c) => c.notNull())
    .addColumn('verified', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('expire_time', 'integer')
    .execute()
  // Only primary keys are unique. A subkey does not prove possession, because anyone can bind an
  // encryption subkey to a key.
  await sql`create unique index gpg_keys_primary on gpg_keys (fingerprint) where primary_id is null`.execute(
    db,
  )
  // For pages in the order of creation.
  await sql`create index gpg_keys_of_user on gpg_keys (user_id, id) where primary_id is null`.execute(
    db,
  )
  await sql`create index gpg_keys_subkeys on gpg_keys (primary_id)`.execute(db)
  // For signatures, which name their key by id, and for cascading deletes of users.
  await sql`create index gpg_keys_by_key_id on gpg_keys (user_id, key_id)`.execute(db)

  // A separate table, so that lists do not read the text.
  await db.schema
    .createTable('gpg_certificates')
    .addColumn('gpg_key_id', 'integer', (c) =>
      c.primaryKey().references('gpg_keys.id').onDelete('cascade'),
    )
    .addColumn('certificate', 'blob', (c) => c.notNull())
    .execute()
}
