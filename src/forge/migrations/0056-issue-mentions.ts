import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The users whom texts of a conversation have ever mentioned. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_mentions')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('issue_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('issue_mentions_key', ['user_id', 'issue_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the deletion of a conversation.
  await db.schema
    .createIndex('issue_mentions_of_issue')
    .on('issue_mentions')
    .column('issue_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_mentions').execute()
}
