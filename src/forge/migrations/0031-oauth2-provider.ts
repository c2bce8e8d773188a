import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * Public clients that clients of forges know by these ids, as compatible systems have them. They
 * receive their codes on a port of the user's own machine.
 */
const WELL_KNOWN = [
  { clientId: 'a4792ccc-144e-407e-86c9-5e7d8d9c3269', name: 'git-credential-oauth' },
  { clientId: 'e90ee53c-94e2-48ac-9358-a874fb9e0662', name: 'Git Credential Manager' },
  { clientId: 'd57cb8c4-630c-4168-8324-ec79935e18d4', name: 'tea' },
]

const LOOPBACK = JSON.stringify(['http://127.0.0.1/', 'https://127.0.0.1/'])

/** Applications that sign users in by OAuth 2.0, and what users have granted to them. */
export async function up(db: Tx): Promise<void> {
  await createApplications(db)
  await createGrants(db)
}

async function createApplications(db: Tx): Promise<void> {
  await db.schema
    .createTable('oauth2_applications')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('client_id', 'text', (c) => c.notNull().unique())
    .addColumn('owner_id', 'integer', (c) => c.references('accounts.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('confidential', 'integer', (c) => c.notNull().check(sql`confidential in (0, 1)`))
    .addColumn('secret_hash', 'text')
    .addColumn('redirect_uris', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addCheckConstraint(
      'confidential_has_secret',
      sql`(confidential = 1) = (secret_hash is not null)`,
    )
    .execute()
  // For lists of the applications of an owner or of the instance.
  await sql`create index oauth2_applications_of_owner on oauth2_applications (owner_id, id)`.execute(
    db,
  )
  await db
    .insertInto('oauth2_applications')
    .values(
      WELL_KNOWN.map(({ clientId: client_id, name }) => ({
        client_id,
        owner_id: null,
        name,
        confidential: 0,
        secret_hash: null,
        redirect_uris: LOOPBACK,
        // Nobody on this instance created them.
        create_time: 0,
      })),
    )
    .execute()
}

async function createGrants(db: Tx): Promise<void> {
  await db.schema
    .createTable('oauth2_grants')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('application_id', 'integer', (c) =>
      c.notNull().references('oauth2_applications.id').onDelete('cascade'),
    )
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('oauth2_grant_of_user', ['user_id', 'application_id'])
    .execute()
  // For the deletion of an application.
  await sql`create index oauth2_grants_of_application on oauth2_grants (application_id)`.execute(db)

  await db.schema
    .createTable('oauth2_authorizations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('grant_id', 'integer', (c) =>
      c.notNull().references('oauth2_grants.id').onDelete('cascade'),
    )
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('code_hash', 'text', (c) => c.notNull().unique())
    .addColumn('redirect_uri', 'text', (c) => c.notNull())
    .addColumn('code_challenge', 'text')
    .addColumn('nonce', 'text')
    .addColumn('sign_in_time', 'integer', (c) => c.notNull())
    .addColumn('refresh_hash', 'text', (c) => c.unique())
    .addColumn('previous_refresh_hash', 'text')
    .addColumn('refresh_time', 'integer')
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .execute()
  // For the deletion of a grant, and for that of expired authorizations.
  await sql`
    create index oauth2_authorizations_of_grant on oauth2_authorizations (grant_id, expire_time)
  `.execute(db)
  await sql`
    create index oauth2_authorizations_by_expiry on oauth2_authorizations (expire_time)
  `.execute(db)

  await db.schema
    .createTable('oauth2_access_tokens')
    .addColumn('token_hash', 'text', (c) => c.primaryKey())
    .addColumn('authorization_id', 'text', (c) =>
      c.notNull().references('oauth2_authorizations.id').onDelete('cascade'),
    )
    .addColumn('scopes', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .execute()
  // For the deletion of an authorization, and for that of the oldest token of one.
  await sql`
    create index oauth2_access_tokens_of_authorization
    on oauth2_access_tokens (authorization_id, expire_time)
  `.execute(db)
}

export async function down(db: Tx): Promise<void> {
  for (const table of [
    'oauth2_access_tokens',
    'oauth2_authorizations',
    'oauth2_grants',
    'oauth2_applications',
  ])
    await db.schema.dropTable(table).execute()
}
