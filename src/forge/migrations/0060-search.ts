import { sql } from 'kysely'
import { isPostgres } from '../../platform/database/dialects/dialects.ts'
import {
  clearTextIndex,
  countIndexedTexts,
  createTextIndex,
  dropTextIndex,
  writeIndexedText,
} from '../../platform/database/dialects/text-index.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'

/** The triggers that remove the texts of what is deleted, with the ids of its texts. */
const TRIGGERS = [
  ['search_issue_removed', 'issues', 'old.id * 2'],
  ['search_comment_removed', 'issue_comments', 'old.id * 2 + 1'],
] as const

/** The number of texts that are read at a time. */
const BATCH = 200

/** The index of the words of conversations, with the words of all texts. */
export async function up(db: Tx): Promise<void> {
  await createTextIndex(db)
  const key = isPostgres(db) ? 'search_texts where id' : 'search_index where rowid'
  for (const [name, table, id] of TRIGGERS)
    await createTrigger(
      db,
      `${name} after delete on ${table} begin delete from ${key} = ${id}; end`,
    )
  await fillSearch(db)
}

/** Loses the index. */
export async function down(db: Tx): Promise<void> {
  for (const [name] of TRIGGERS) await dropTrigger(db, name)
  await dropTextIndex(db)
}

interface Text {
  readonly id: number
  readonly issue_id: number
  readonly repository_id: number
  readonly title: string
  readonly body: string
}

/** The texts after an id, in the order of ids. */
const SOURCES = [
  (last: number) => sql<Text>`select id, id as issue_id, repository_id, title, body
    from issues where id > ${last} order by id limit ${sql.lit(BATCH)}`,
  (last: number) => sql<Text>`select id, issue_id, repository_id, '' as title, body
    from issue_comments where id > ${last} order by id limit ${sql.lit(BATCH)}`,
]

/** Writes the words of all texts to the index, in place of what is there. */
export async function fillSearch(tx: Tx): Promise<void> {
  await clearTextIndex(tx)
  for (const [kind, source] of SOURCES.entries()) {
    let last = 0
    for (;;) {
      const { rows } = await source(last).execute(tx)
      for (const { id, issue_id, repository_id, title, body } of rows) {
        const text = {
          id: id * 2 + kind,
          issueId: issue_id,
          repositoryId: repository_id,
          title,
          body,
        }
        await writeIndexedText(tx, text)
      }
      if (rows.length < BATCH) break
      last = rows.at(-1)?.id ?? last
    }
  }
}

/** Returns how many texts there are, and how many of them are in the index. */
export async function countSearch(db: Db): Promise<{ texts: number; indexed: number }> {
  const { rows } = await sql<{ count: number }>`select (select count(*) from issues)
    + (select count(*) from issue_comments) as count`.execute(db)
  return { texts: Number(rows[0]?.count ?? 0), indexed: await countIndexedTexts(db) }
}
