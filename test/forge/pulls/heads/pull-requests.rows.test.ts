import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findMilestone,
  insertMilestone,
} from '../../../../src/forge/conversations/milestones.rows.ts'
import {
  insertParticipants,
  markSeen,
  unseenConversations,
} from '../../../../src/forge/conversations/participants.rows.ts'
import {
  findPullRequestBetween,
  touchPull,
  updatePullRequest,
} from '../../../../src/forge/pulls/heads/pull-requests.rows.ts'
import {
  deleteRepository,
  findRepositoryById,
} from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import {
  isForeignKeyViolation,
  isUniqueViolation,
  transaction,
} from '../../../../src/platform/database/database.ts'
import type { Tx } from '../../../../src/platform/database/schema.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { addPull, addRepository } from '../../../support/forge-rows.ts'

let app: TestApp
let ownerId = 0
let otherId = 0

beforeAll(async () => {
  app = await testApp()
  ownerId = (await addUser(app, 'bob')).id
  otherId = (await addUser(app, 'carol')).id
})
afterAll(() => app.db.destroy())

/** Runs what a test does to the rows of a new repository, in one transaction. */
function inRepository<T>(
  name: string,
  work: (tx: Tx, repositoryId: number) => Promise<T>,
): Promise<T> {
  return transaction(app.db, async (tx) =>
    work(tx, (await addRepository(tx, { owner_id: ownerId, name })).id),
  )
}

describe('pull requests', () => {
  it('get consecutive numbers of their repository, which are never reused', async () => {
    const numbers = await inRepository('numbers', async (tx, repository_id) => {
      const first = await addPull(tx, { repository_id })
      const second = await addPull(tx, { repository_id })
      await tx.deleteFrom('issues').where('id', '=', second.id).execute()
      return [first, second, await addPull(tx, { repository_id })].map(({ number }) => number)
    })
    expect(numbers).toEqual([1, 2, 3])
  })

  it('are refused without a fault when their repository was deleted', async () => {
    const refused = inRepository('gone', async (tx, repository_id) => {
      await deleteRepository(tx, repository_id)
      await addPull(tx, { repository_id, head_repository_id: null })
    })
    await expect(refused).rejects.toSatisfy(isForeignKeyViolation)
  })

  it('never have the same branches twice while they are open', async () => {
    const twice = inRepository('twice', async (tx, repository_id) => {
      const branches = { repository_id, head_branch: 'fix' }
      await addPull(tx, { ...branches, state: 'CLOSED' })
      await addPull(tx, branches)
      await addPull(tx, { ...branches, base_branch: 'release' })
      await addPull(tx, branches)
    })
    await expect(twice).rejects.toSatisfy(isUniqueViolation)
  })

  it('between two branches are found: the open one, or else the latest', async () => {
    await inRepository('between', async (tx, repository_id) => {
      const branches = { repository_id, head_branch: 'fix', base_branch: 'main' }
      const find = () =>
        findPullRequestBetween(tx, { ...branches, head_repository_id: repository_id })
      expect(await find()).toBeUndefined()
      await addPull(tx, { ...branches, state: 'CLOSED' })
      const open = await addPull(tx, branches)
      const latest = await addPull(tx, { ...branches, state: 'MERGED' })
      expect((await find())?.id).toBe(open.id)
      await updatePullRequest(tx, open.id, { state: 'CLOSED' })
      expect((await find())?.id).toBe(latest.id)
    })
  })

  it('are counted by their repository and their milestones as they open, close, move and are deleted', async () => {
    await inRepository('counted', async (tx, repository_id) => {
      const texts = { title: 'v1', description: '', state: 'open' as const }
      const times = { due_time: null, close_time: null, create_time: 0, update_time: 0 }
      const milestone = await insertMilestone(tx, { repository_id, ...texts, ...times })
      const other = await insertMilestone(tx, { repository_id, ...texts, ...times })
      const counts = async () => {
        const { pulls_count, open_pulls_count } =
          (await findRepositoryById(tx, repository_id)) ?? {}
        const ofMilestones = await Promise.all(
          [milestone, other].map(({ id }) => findMilestone(tx, repository_id, id)),
        )
        return [
          pulls_count,
          open_pulls_count,
          ...ofMilestones.flatMap((m) => [m?.open_issues, m?.closed_issues]),
        ]
      }
      const { id } = await addPull(tx, { repository_id, milestone_id: milestone.id })
      await addPull(tx, { repository_id, state: 'MERGED', milestone_id: milestone.id })
      expect(await counts()).toEqual([2, 1, 1, 1, 0, 0])
      await updatePullRequest(tx, id, { state: 'CLOSED' })
      expect(await counts()).toEqual([2, 0, 0, 2, 0, 0])
      await updatePullRequest(tx, id, { milestone_id: other.id, state: 'OPEN' })
      expect(await counts()).toEqual([2, 1, 0, 1, 1, 0])
      await tx.deleteFrom('issues').where('id', '=', id).execute()
      expect(await counts()).toEqual([1, 0, 0, 1, 0, 0])
    })
  })
})

describe('participants', () => {
  it('have not seen changes by others, have seen their own changes, and see all when they look', async () => {
    await inRepository('seen', async (tx, repository_id) => {
      const { id } = await addPull(tx, { repository_id })
      const unread = async () =>
        (
          await Promise.all(
            [ownerId, otherId].map((userId) => unseenConversations(tx, [id], userId)),
          )
        ).map(({ size }) => size)
      await touchPull(tx, id, 10)
      expect(await unread()).toEqual([0, 0])
      await insertParticipants(tx, id, [ownerId, otherId])
      expect(await unread()).toEqual([1, 1])
      await markSeen(tx, id, ownerId)
      await insertParticipants(tx, id, [ownerId])
      await touchPull(tx, id, 11, ownerId)
      expect(await unread()).toEqual([0, 1])
      await touchPull(tx, id, 12, otherId)
      // What carol has done does not show her what she had not seen before.
      expect(await unread()).toEqual([1, 1])
      await markSeen(tx, id, otherId)
      expect(await unread()).toEqual([1, 0])
      const { update_time, change_count } = await updatePullRequest(tx, id, { title: 'seen' })
      expect([update_time, change_count]).toEqual([12, 3])
    })
  })
})
