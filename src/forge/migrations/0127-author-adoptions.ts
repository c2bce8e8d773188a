import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The tables whose rows may have an author at another server. */
const AUTHORED = ['issues', 'issue_comments', 'reviews', 'review_comments', 'releases'] as const

/** How rows of an author are found. */
const KEYS = { id: 'original_author_id', login: 'original_author' } as const

/** People who link an identity later become the authors of what they wrote at the other server. */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('linked_identities').addColumn('adopt_time', 'integer').execute()
  await sql`create index identities_that_adopt on linked_identities (adopt_time, id)
    where adopt_time is not null`.execute(db)
  for (const table of AUTHORED)
    for (const [name, column] of Object.entries(KEYS))
      await sql`create index ${sql.id(`${table}_by_original_${name}`)}
        on ${sql.table(table)} (${sql.id(column)}, id) where original_author_id > 0`.execute(db)
  await db.schema
    .alterTable('project_imports')
    .addColumn('identity_origin', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  const imports = await db.selectFrom('project_imports').select(['id', 'service', 'url']).execute()
  for (const { id, service, url } of imports)
    if (URL.canParse(url))
      await db
        .updateTable('project_imports')
        .set({ identity_origin: originOf(service, new URL(url)) })
        .where('id', '=', id)
        .execute()
}

/** The API of github.com has an origin of its own. */
function originOf(service: string, { host, origin }: URL): string {
  const isPublic = service === 'github' && /^(www\.)?github\.com$/.test(host)
  return isPublic ? 'https://api.github.com' : origin
}

/** Who has become an author stays one. */
export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('project_imports').dropColumn('identity_origin').execute()
  for (const table of AUTHORED)
    for (const name of Object.keys(KEYS))
      await db.schema.dropIndex(`${table}_by_original_${name}`).execute()
  await db.schema.dropIndex('identities_that_adopt').execute()
  await db.schema.alterTable('linked_identities').dropColumn('adopt_time').execute()
}
