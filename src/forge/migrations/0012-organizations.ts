import { sql } from 'kysely'
import { either, WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** PostgreSQL 15 has no such test, and a cast to JSON fails for other texts. */
const VALID_UNITS = either({
  sqlite: sql`json_valid(units)`,
  postgres: sql`units::json is not null`,
})

/** Organisations, their members, and teams with their permissions. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('organizations')
    .addColumn('id', 'integer', (c) => c.primaryKey().references('accounts.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    // For the order of lists. `account_names` keeps names unique.
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('full_name', 'text', (c) => c.notNull())
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('website', 'text', (c) => c.notNull())
    .addColumn('location', 'text', (c) => c.notNull())
    .addColumn('visibility', 'text', (c) =>
      c.notNull().check(sql`visibility in ('public', 'limited', 'private')`),
    )
    .addColumn('repo_admin_change_team_access', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('organizations_name_key')
    .on('organizations')
    .column('name_key')
    .execute()
  // For lists of repositories, which leave out those of hidden owners.
  await sql`create index organizations_hidden on organizations (id, visibility) where visibility <> 'public'`.execute(
    db,
  )
  await createTrigger(
    db,
    `organization_account_deleted after delete on organizations begin
    delete from accounts where id = old.id; end`,
  )

  await db.schema
    .createTable('organization_members')
    .addColumn('organization_id', 'integer', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('is_public', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('organization_members_key', ['organization_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('organization_members_user')
    .on('organization_members')
    .columns(['user_id', 'organization_id'])
    .execute()

  await db.schema
    .createTable('teams')
    // AUTOINCREMENT never reuses an id. Clients and protection rules store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('organization_id', 'integer', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('permission', 'text', (c) =>
      c.notNull().check(sql`permission in ('none', 'read', 'write', 'admin', 'owner')`),
    )
    .addColumn('units', 'text', (c) => c.notNull().check(VALID_UNITS))
    .addColumn('includes_all_repositories', 'integer', (c) => c.notNull())
    .addColumn('can_create_org_repo', 'integer', (c) => c.notNull())
    .addColumn('visibility', 'text', (c) =>
      c.notNull().check(sql`visibility in ('public', 'limited', 'private')`),
    )
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('teams_name_key', ['organization_id', 'name_key'])
    .execute()

  await db.schema
    .createTable('team_members')
    .addColumn('team_id', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('team_members_key', ['team_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('team_members_user')
    .on('team_members')
    .columns(['user_id', 'team_id'])
    .execute()

  await db.schema
    .createTable('team_repositories')
    .addColumn('team_id', 'integer', (c) => c.notNull().references('teams.id').onDelete('cascade'))
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('team_repositories_key', ['team_id', 'repository_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('team_repositories_repository')
    .on('team_repositories')
    .columns(['repository_id', 'team_id'])
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of [
    'team_repositories',
    'team_members',
    'teams',
    'organization_members',
    'organizations',
  ]) {
    await db.schema.dropTable(table).execute()
  }
}
