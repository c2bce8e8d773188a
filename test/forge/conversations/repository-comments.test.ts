import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type CommentPeriod,
  countRepositoryComments,
  insertIssueComment,
  pageOfRepositoryComments,
} from '../../../src/forge/conversations/issue-comments.rows.ts'
import { migrations } from '../../../src/forge/migrations/index.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { addOrganization, addPull, addRepository } from '../../support/forge-rows.ts'
import { plansOf } from '../../support/query-plan.ts'

/** Readers of both kinds of conversations. */
const BOTH = { issues: true, pulls: true }
const ALWAYS: CommentPeriod = { since: undefined, before: undefined }
const COUNT = 40

let db: Db
let repositoryId = 0

beforeAll(async () => {
  db = await openTestDatabase()
  await transaction(db, async (tx) => {
    const owner_id = await addOrganization(tx, { name: 'acme' })
    const { id: elsewhere } = await addRepository(tx, { owner_id, name: 'other' })
    const { id } = await addRepository(tx, { owner_id, name: 'engine' })
    repositoryId = id
    const pulls = [
      await addPull(tx, { repository_id: id }),
      await addPull(tx, { repository_id: id }),
    ]
    const other = await addPull(tx, { repository_id: elsewhere })
    for (let i = 0; i < COUNT; i++)
      for (const pull of [pulls[i % 2] ?? other, other])
        await insertIssueComment(tx, {
          issue_id: pull.id,
          repository_id: pull.repository_id,
          poster_id: null,
          // Equal times, so that the id decides.
          create_time: Math.floor(i / 3),
          update_time: COUNT - i,
          body: String(i),
        })
  })
})
afterAll(() => db.destroy())

const page = async (offset: number, limit: number, period = ALWAYS) => {
  const selection = { repositoryId, kinds: BOTH, ...period }
  const total = await countRepositoryComments(db, selection)
  const rows = await pageOfRepositoryComments(db, selection, { offset, limit }, total)
  return rows.map(({ body }) => Number(body))
}
const numbers = (from: number, to: number) =>
  Array.from({ length: Math.max(to - from, 0) }, (_, i) => from + i)

describe('the comments of a repository', () => {
  it('come in the same order from either end of the list', async () => {
    for (const limit of [1, 7, 50])
      for (let offset = 0; offset < COUNT + limit; offset += limit)
        expect(await page(offset, limit)).toEqual(numbers(offset, Math.min(offset + limit, COUNT)))
  })

  it('can be limited to a period of the last change', async () => {
    expect(await page(0, 50, { since: 31, before: undefined })).toEqual(numbers(0, 10))
    expect(await page(5, 3, { since: undefined, before: 10 })).toEqual([35, 36, 37])
  })

  it('are counted by triggers', async () => {
    const counts = () =>
      db.selectFrom('repositories').select('comments_count').orderBy('id').execute()
    const both = (count: number) => ({ comments_count: count })
    expect(await counts()).toEqual([both(COUNT), both(COUNT)])
    const undone = new Error('undone')
    const work = transaction(db, async (tx) => {
      await tx.deleteFrom('issue_comments').where('repository_id', '=', repositoryId).execute()
      const { comments_count } = await tx
        .selectFrom('repositories')
        .select('comments_count')
        .where('id', '=', repositoryId)
        .executeTakeFirstOrThrow()
      expect(comments_count).toBe(0)
      throw undone
    })
    await expect(work).rejects.toBe(undone)
  })

  it('are read by an index, whatever their number', async () => {
    const whole = { repositoryId: 1, kinds: BOTH, ...ALWAYS }
    const plans = await plansOf(db, async (watched) => {
      const first = { offset: 0, limit: 2 }
      await pageOfRepositoryComments(watched, whole, first, 9)
      await pageOfRepositoryComments(watched, whole, { offset: 7, limit: 2 }, 9)
      const recent = { ...whole, since: 5 }
      await pageOfRepositoryComments(watched, recent, first, 9)
      await countRepositoryComments(watched, recent)
    })
    const comments = plans.map((plan) => plan.filter((step) => step.includes('COVERING')))
    const all =
      'SEARCH issue_comments USING COVERING INDEX pull_comments_of_repository (repository_id=?)'
    const changed =
      'SEARCH issue_comments USING COVERING INDEX pull_comments_by_update (repository_id=? AND update_time>?)'
    expect(comments).toEqual([[all], [all], [changed], [changed]])
  })

  it('get their repository and their number from a migration', async () => {
    const named = (wanted: string) => migrations.find(({ name }) => name === wanted)
    const step = named('0038-repository-comments')
    const later = migrations.filter(({ name }) => name >= '0052-issues')
    const before = await db.selectFrom('issue_comments').selectAll().orderBy('id').execute()
    await transaction(db, async (tx) => {
      for (const one of later.toReversed()) await one.down(tx)
      await step?.down(tx)
      await step?.up(tx)
      for (const one of later) await one.up(tx)
    })
    expect(await db.selectFrom('issue_comments').selectAll().orderBy('id').execute()).toEqual(
      before,
    )
    const counts = await db.selectFrom('repositories').select('comments_count').execute()
    expect(counts.map(({ comments_count }) => comments_count)).toEqual([COUNT, COUNT])
  })
})
