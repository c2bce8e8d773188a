import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAccount } from '../../../src/forge/accounts/users/users.rows.ts'
import { wrongCounters } from '../../../src/forge/administration/counters.rows.ts'
import { migrations } from '../../../src/forge/migrations/index.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db, Tx } from '../../../src/platform/database/schema.ts'
import { isOnPostgres, openTestDatabase } from '../../support/database.ts'
import { addPull, addRepository } from '../../support/forge-rows.ts'

const ROWS = 1_000

/** More would be about one for each row. */
const MAX_WRITES = 10

/** Statements that change thousands of rows, which one row counts. */
const numbers = sql`with recursive numbers(i) as
  (select cast(1 as bigint) union all select i + 1 from numbers where i < ${ROWS})`
const SHA = '1'.repeat(40)

const STATEMENTS: readonly (readonly [string, RawBuilder<unknown>])[] = [
  [
    'branches',
    sql`${numbers} insert into branches (repository_id, name, commit_id, commit_time)
      select repositories.id, 'branch-' || i, ${SHA}, i from repositories, numbers`,
  ],
  [
    'pull requests',
    sql`${numbers} insert into issues (repository_id, number, title, state, base_branch, head_repository_id,
        head_branch, head_commit, allow_maintainer_edit, create_time, update_time, body, milestone_id)
      select r.id, 10 + i, '', case i % 2 when 0 then 'OPEN' else 'CLOSED' end, 'main', r.id, 'branch-' || i,
        ${SHA}, 0, i, i, '', milestones.id from repositories as r, milestones, numbers`,
  ],
  [
    'comments',
    sql`${numbers} insert into issue_comments (issue_id, repository_id, create_time, update_time, body)
      select p.id, p.repository_id, i, i, '' from issues as p, numbers where p.number = 1`,
  ],
  [
    'releases',
    sql`${numbers} insert into releases (repository_id, tag_name, tag_only, draft, prerelease, publisher_id, create_time, target, title, note)
      select r.id, 'v' || i, 0, 0, 0, r.owner_id, i, 'main', '', '' from repositories as r, numbers`,
  ],
  [
    'deliveries of a webhook',
    sql`${numbers} insert into webhook_deliveries (uid, webhook_id, message_id, state, next_attempt_time)
      select 'delivery-' || i, w.id, m.id, 'PENDING', 5 from user_webhooks as w, webhook_messages as m, numbers`,
  ],
  [
    'deliveries that fail',
    sql`update webhook_deliveries set state = 'FAILED', next_attempt_time = null where id % 2 = 0`,
  ],
  ['lost deliveries', sql`delete from webhook_deliveries`],
  ['lost comments', sql`delete from issue_comments where update_time > 5`],
  ['a lost milestone', sql`delete from milestones`],
  ['lost branches', sql`delete from branches where commit_time > 5`],
  ['lost pull requests', sql`delete from issues where number > 5`],
  ['a lost pull request', sql`delete from issues`],
  ['a lost repository', sql`delete from repositories`],
]

/**
 * Returns how many rows with counters PostgreSQL has written: those of the transaction so far, and
 * those of earlier ones that it has not added to its statistics yet.
 */
async function writesOf(tx: Tx): Promise<number> {
  const counting = ['repositories', 'milestones', 'users', 'user_webhooks']
  const { rows } = await sql<{ writes: number }>`
    select cast(sum(n_tup_upd) as integer) as writes from pg_stat_xact_user_tables
    where relname in (${sql.join(counting)})`.execute(tx)
  return rows[0]?.writes ?? 0
}

describe('a statement that changes thousands of rows', () => {
  let db: Db

  beforeAll(async () => {
    db = await openTestDatabase()
    await transaction(db, async (tx) => {
      const owner_id = await insertAccount(tx, 'USER')
      await sql`insert into users (id, username, email, email_key, display_name, avatar_url, description, password_hash,
        role, state, create_time, update_time) values (${owner_id}, 'bob', '', '', '', '', '', '', 'USER', 'NORMAL', 0, 0)`.execute(
        tx,
      )
      const { id: repository_id } = await addRepository(tx, { owner_id, name: 'tools' })
      await tx
        .insertInto('milestones')
        .values({
          repository_id,
          title: 'v1',
          description: '',
          state: 'open',
          due_time: null,
          close_time: null,
          create_time: 0,
          update_time: 0,
        })
        .execute()
      await sql`insert into webhook_messages (event_type, body, create_time) values ('push', '{}', 0)`.execute(
        tx,
      )
      const webhook = { uid: 'hook', user_id: owner_id, url: 'http://127.0.0.1/', display_name: '' }
      await tx
        .insertInto('user_webhooks')
        .values({ ...webhook, signing_secret: Buffer.alloc(1), create_time: 0, update_time: 0 })
        .execute()
      await addPull(tx, { repository_id })
    })
  })
  afterAll(() => db.destroy())

  it.each(STATEMENTS)('counts them right, and on PostgreSQL at once: %s', async (_, statement) => {
    const writes = await transaction(db, async (tx) => {
      const before = isOnPostgres ? await writesOf(tx) : 0
      await statement.execute(tx)
      return isOnPostgres ? (await writesOf(tx)) - before : 0
    })
    expect(await findWrong()).toEqual([])
    expect(writes).toBeLessThanOrEqual(MAX_WRITES)
  })

  it('is counted after the migration is undone and done again', async () => {
    const steps = migrations.filter(({ name }) => name >= '0052-issues')
    await transaction(db, async (tx) => {
      const owner_id = await insertAccount(tx, 'USER')
      const { id: repository_id } = await addRepository(tx, { owner_id, name: 'again' })
      await addPull(tx, { repository_id })
      for (const step of steps.toReversed()) await step.down(tx)
      for (const step of steps) await step.up(tx)
      const pull = await addPull(tx, { repository_id })
      await tx.updateTable('issues').set({ state: 'CLOSED' }).where('id', '=', pull.id).execute()
    })
    expect(await findWrong()).toEqual([])
    const counts = db.selectFrom('repositories').select(['pulls_count', 'open_pulls_count'])
    expect(await counts.execute()).toEqual([{ pulls_count: 2, open_pulls_count: 1 }])
  })

  async function findWrong(): Promise<object[]> {
    const wrong = []
    for await (const { table, column, stored, actual } of wrongCounters(db))
      wrong.push({ table, column, stored, actual })
    return wrong
  }
})
