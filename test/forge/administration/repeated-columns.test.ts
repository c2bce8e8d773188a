import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAccount } from '../../../src/forge/accounts/users/users.rows.ts'
import { wrongRepetitions } from '../../../src/forge/administration/repeated-columns.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { addIssue, addRepository } from '../../support/forge-rows.ts'

describe('columns that repeat those of another row', () => {
  let db: Db
  let issueId: number
  let repositoryId: number

  beforeAll(async () => {
    db = await openTestDatabase()
    await transaction(db, async (tx) => {
      const owner_id = await insertAccount(tx, 'USER')
      await sql`insert into users (id, username, email, email_key, display_name, avatar_url, description, password_hash,
        role, state, create_time, update_time) values (${owner_id}, 'bob', '', '', '', '', '', '', 'USER', 'NORMAL', 0, 0)`.execute(
        tx,
      )
      const { id: repository_id } = await addRepository(tx, { owner_id, name: 'tools' })
      const { id: issue_id } = await addIssue(tx, { repository_id })
      await tx.insertInto('issue_assignees').values({ issue_id, user_id: owner_id }).execute()
      await sql`insert into labels (id, repository_id, name, color, description, exclusive, archived)
        values (1, ${repository_id}, 'bug', 'ff0000', '', 0, 0)`.execute(tx)
      await tx.insertInto('issue_labels').values({ issue_id, label_id: 1 }).execute()
      issueId = issue_id
      repositoryId = repository_id
    })
  })
  afterAll(() => db.destroy())

  async function findWrong(repairs = false): Promise<string[]> {
    const wrong = []
    for await (const { table, key, repair } of wrongRepetitions(db)) {
      wrong.push(`${table} ${key}`)
      if (repairs) await repair()
    }
    return wrong
  }

  it('follow each change', async () => {
    expect(await findWrong()).toEqual([])
    for (const isPrivate of [1, 0]) {
      const repository = db.updateTable('repositories').where('id', '=', repositoryId)
      await repository.set({ private: isPrivate }).execute()
      expect(await findWrong()).toEqual([])
      const { is_public } = await db
        .selectFrom('issues')
        .select('is_public')
        .executeTakeFirstOrThrow()
      expect(is_public).toBe(1 - isPrivate)
    }
    await db.updateTable('issues').set({ state: 'CLOSED' }).execute()
    expect(await findWrong()).toEqual([])
  })

  it('are repaired where they differ', async () => {
    await sql`update issue_labels set is_open = 1`.execute(db)
    await sql`update issue_assignees set create_time = create_time + 1`.execute(db)
    await sql`update issues set is_public = 0`.execute(db)
    const all = [`issue_labels ${issueId}`, `issue_assignees ${issueId}`, `issues ${issueId}`]
    expect(await findWrong()).toEqual(all)
    expect(await findWrong(true)).toEqual(all)
    expect(await findWrong()).toEqual([])
  })
})
