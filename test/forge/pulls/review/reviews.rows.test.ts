import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findMembersOf,
  findTeamsAt,
  findVisibleTeams,
} from '../../../../src/forge/organizations/teams.rows.ts'
import {
  comparedBases,
  countReviews,
  findNumberOfComment,
  findPendingReview,
  findReview,
  insertReview,
  listOfficial,
  listReviewComments,
  listReviewRequests,
  listReviews,
  listUncompared,
  listVotes,
} from '../../../../src/forge/pulls/review/reviews.rows.ts'
import { findGrantsTo } from '../../../../src/forge/repositories/access/repository-grants.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { addUser, testApp } from '../../../support/app.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { addPull, addRepository } from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('reviews', () => {
  it('and official votes are found by indexes, without reading other pull requests', async () => {
    const viewer = {
      userId: 1,
      teams: { organizationId: 1, viewer: { userId: 1, isMember: true } },
    }
    const plans = await plansOf(db, async (watched) => {
      await listReviews(watched, 1, viewer, 0, 30)
      await countReviews(watched, 1, viewer)
      await findReview(watched, 1, viewer, 1)
      await findPendingReview(watched, 1, 1)
      await listOfficial(watched, 1)
      await listVotes(watched, 1)
      await listReviewRequests(watched, [1, 2])
      await listUncompared(watched, 1, '', 'all', 30)
      await comparedBases(watched, 1)
      await listReviewComments(watched, 1, 0, 30)
      await findNumberOfComment(watched, 1, 1)
      await findGrantsTo(watched, [1, 2], 1)
      await findTeamsAt(watched, { id: 1, owner_id: 1 }, [1])
      await findVisibleTeams(watched, viewer.teams, [1])
      await findMembersOf(watched, [1], [1])
    })
    expect(plans).toHaveLength(16)
    const scans = plans.flat().filter((step) => step.startsWith('SCAN'))
    // The ids of the pull requests, which are a parameter.
    expect(scans).toEqual(['SCAN json_each VIRTUAL TABLE INDEX 1:'])
    expect(plans.flat().join('\n')).toContain('reviews_pending')
    // What counts is found without going through what does not.
    expect(plans[4]?.[0]).toContain('reviews_official')
    expect(plans[5]?.[0]).toContain('reviews_requests')
  })
})

describe('reviewed commits', () => {
  it('are compared first, or alone, if their reviews count, whatever the number of others', async () => {
    const app = await testApp()
    const { id: reviewer_id } = await addUser(app, 'bob')
    await transaction(app.db, async (tx) => {
      const { id: repository_id } = await addRepository(tx, {
        owner_id: reviewer_id,
        name: 'engine',
      })
      const { id: pull_request_id } = await addPull(tx, { repository_id, head_branch: 'x' })
      const about = {
        pull_request_id,
        team_id: null,
        compared_head: '',
        create_time: 0,
        update_time: 0,
        body: '',
      }
      await insertReview(tx, {
        ...about,
        reviewer_id,
        commit_id: 'approved',
        state: 'APPROVED',
        official: 1,
      })
      for (const commit_id of ['one', 'two', 'three']) {
        await insertReview(tx, { ...about, reviewer_id, commit_id, state: 'COMMENT', official: 0 })
      }
      const uncompared = async (...args: [reviews: 'all' | 'official', limit: number]) =>
        (await listUncompared(tx, pull_request_id, 'head', ...args)).map(
          ({ commit_id }) => commit_id,
        )
      expect(await uncompared('all', 2)).toEqual(['approved', 'three'])
      expect(await uncompared('official', 50)).toEqual(['approved'])
    })
    await app.db.destroy()
  })
})
