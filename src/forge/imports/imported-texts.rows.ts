import type { Insertable } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'
import type { IssueCommentsTable } from '../conversations/schema.ts'

/** Inserts a comment, without the work of a comment that a user writes. @returns its id. */
export async function insertImportedComment(
  tx: Tx,
  comment: Insertable<IssueCommentsTable>,
): Promise<number> {
  const { id } = await tx
    .insertInto('issue_comments')
    .values(comment)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Inserts reactions. Their times are not known. */
export async function insertImportedReactions(
  tx: Tx,
  place: { readonly issue_id: number; readonly comment_id: number | null },
  reactions: readonly { readonly user_id: number; readonly content: string }[],
): Promise<void> {
  if (reactions.length === 0) return
  const values = reactions.map((reaction) => ({ ...place, ...reaction, create_time: 0 }))
  await tx.insertInto('issue_reactions').values(values).execute()
}

/** Makes conversations of a repository depend on others, by their numbers. Missing ones are left out. */
export async function insertImportedDependencies(
  tx: Tx,
  repositoryId: number,
  number: number,
  dependsOn: readonly number[],
): Promise<void> {
  const ids = await tx
    .selectFrom('issues')
    .select(['id', 'number'])
    .where('repository_id', '=', repositoryId)
    .where('number', 'in', [number, ...dependsOn])
    .execute()
  const issue = ids.find((row) => row.number === number)
  const values = ids
    .filter((row) => issue && row.number !== number)
    .map((row) => ({ issue_id: issue?.id ?? 0, depends_on_id: row.id }))
  if (values.length === 0) return
  await tx
    .insertInto('issue_dependencies')
    .values(values)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
