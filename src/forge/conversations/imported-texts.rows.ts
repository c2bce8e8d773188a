import { type Insertable, sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { IssueCommentsTable } from './schema.ts'

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

/** Returns a conversation by its number, with its comments in the order in which they were stored. */
export async function conversationNumbered(
  db: Db,
  repositoryId: number,
  number: number,
): Promise<
  { id: number; comments: { readonly id: number; readonly create_time: number }[] } | undefined
> {
  const found = await db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('number', '=', number)
    .executeTakeFirst()
  if (!found) return undefined
  const comments = await db
    .selectFrom('issue_comments')
    .select(['id', 'create_time'])
    .where('issue_id', '=', found.id)
    .orderBy('id')
    .execute()
  return { ...found, comments }
}

/** Replaces links in the texts of a conversation and of its comments. */
export async function relinkTexts(
  tx: Tx,
  conversationId: number,
  links: readonly string[],
  link: string,
): Promise<void> {
  for (const old of links) {
    const body = sql<string>`replace(body, ${old}, ${link})`
    const isChanged = sql<boolean>`${body} <> body`
    await tx
      .updateTable('issues')
      .set({ body })
      .where('id', '=', conversationId)
      .where(isChanged)
      .execute()
    await tx
      .updateTable('issue_comments')
      .set({ body })
      .where('issue_id', '=', conversationId)
      .where(isChanged)
      .execute()
  }
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
