import type { Tx } from '../../platform/database/schema.ts'

/** Identity providers, and the identities of accounts. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('identity_providers')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('uid', 'text', (c) => c.notNull().unique())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('identifier_filter', 'text', (c) => c.notNull())
    .addColumn('client_id', 'text', (c) => c.notNull())
    .addColumn('client_secret', 'blob')
    .addColumn('auth_url', 'text', (c) => c.notNull())
    .addColumn('token_url', 'text', (c) => c.notNull())
    .addColumn('user_info_url', 'text', (c) => c.notNull())
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('identifier_claim', 'text', (c) => c.notNull())
    .addColumn('display_name_claim', 'text', (c) => c.notNull())
    .addColumn('email_claim', 'text', (c) => c.notNull())
    .addColumn('avatar_url_claim', 'text', (c) => c.notNull())
    .execute()

  await db.schema
    .createTable('linked_identities')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('provider_id', 'integer', (c) =>
      c.notNull().references('identity_providers.id').onDelete('cascade'),
    )
    .addColumn('extern_uid', 'text', (c) => c.notNull())
    // An account has one identity per provider, and an identity belongs to one account. The
    // constraints are also the indexes for lookups.
    .addUniqueConstraint('one_identity_at_provider', ['user_id', 'provider_id'])
    .addUniqueConstraint('one_account_of_identity', ['provider_id', 'extern_uid'])
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['linked_identities', 'identity_providers'])
    await db.schema.dropTable(table).execute()
}
