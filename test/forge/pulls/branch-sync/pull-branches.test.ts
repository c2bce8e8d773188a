import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  followBranches,
  renameBranchOfPulls,
} from '../../../../src/forge/pulls/branch-sync/pull-branches.ts'
import * as movedRows from '../../../../src/forge/pulls/heads/moved-branches.rows.ts'
import * as rows from '../../../../src/forge/pulls/heads/pull-heads.rows.ts'
import {
  deleteScheduledMergesInto,
  findScheduledMerge,
  insertScheduledMerge,
} from '../../../../src/forge/pulls/merging/scheduled-merges.rows.ts'
import {
  insertPendingRefUpdate,
  putBranches,
  putBranchRename,
} from '../../../../src/forge/repositories/refs/branches.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Tx } from '../../../../src/platform/database/schema.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { addPull, addRepository } from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

let app: TestApp
let ownerId = 0
const COMMIT = 'c'.repeat(40)

beforeAll(async () => {
  app = await testApp()
  ownerId = (await addUser(app, 'bob')).id
})
afterAll(() => app.db.destroy())

/**
 * Runs what a test does to the rows of a new repository with a default branch, in one transaction.
 */
function inRepository<T>(
  name: string,
  work: (tx: Tx, repositoryId: number) => Promise<T>,
): Promise<T> {
  return transaction(app.db, async (tx) => {
    const { id } = await addRepository(tx, { owner_id: ownerId, name })
    await putBranches(tx, [{ repository_id: id, name: 'main', commit_id: COMMIT, commit_time: 0 }])
    return work(tx, id)
  })
}

const moved = (branch: string, newId?: string) => ({
  ref: `refs/heads/${branch}`,
  oldId: '1'.repeat(40),
  newId,
  pusherId: undefined,
})

/** What is there of the pull requests of a repository, in the order of their numbers. */
async function seen(tx: Tx, repositoryId: number) {
  const pulls = await tx
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('number')
    .execute()
  return pulls.map(
    ({ state, head_branch, base_branch }) => `${state} ${head_branch} to ${base_branch}`,
  )
}

describe('open pull requests', () => {
  it('move with their branch, without other changes', async () => {
    await inRepository('moving', async (tx, repository_id) => {
      const other = await addRepository(tx, { owner_id: ownerId, name: 'aside' })
      const follows = await addPull(tx, { repository_id, head_branch: 'a' })
      await addPull(tx, { repository_id, head_branch: 'a', state: 'CLOSED' })
      await addPull(tx, { repository_id, head_branch: 'b' })
      await addPull(tx, { repository_id, head_branch: 'a', head_repository_id: other.id })
      const tag = { ...moved('x', COMMIT), ref: 'refs/tags/b' }
      const followed = await followBranches(app, tx, repository_id, 'main', [
        moved('a', COMMIT),
        tag,
      ])
      expect(followed.map(({ id, head_commit }) => [id, head_commit])).toEqual([
        [follows.id, COMMIT],
      ])
      const [touched] = await tx
        .selectFrom('issues')
        .selectAll()
        .where('id', '=', follows.id)
        .execute()
      expect(touched).toMatchObject({ change_count: 1, head_commit: COMMIT })
      // The same once more is nothing.
      expect(await followBranches(app, tx, repository_id, 'main', [moved('a', COMMIT)])).toEqual([])
    })
  })

  it('keep their head when the branch gets a new name at the same time', async () => {
    await inRepository('waiting', async (tx, repository_id) => {
      await addPull(tx, { repository_id, head_branch: 'old' })
      await addPull(tx, { repository_id, head_branch: 'x', base_branch: 'old' })
      const pending_update_id = await insertPendingRefUpdate(tx, { repository_id, create_time: 0 })
      await putBranchRename(tx, {
        repository_id,
        old_name: 'old',
        new_name: 'new',
        pending_update_id,
      })
      // Somebody has looked in between, and found the old one gone.
      await followBranches(app, tx, repository_id, 'main', [moved('old')])
      expect(await seen(tx, repository_id)).toEqual(['OPEN old to main', 'OPEN x to old'])
      await renameBranchOfPulls(app, tx, repository_id, 'old', 'new')
      expect(await seen(tx, repository_id)).toEqual(['OPEN new to main', 'OPEN x to new'])
    })
  })

  it('are closed where two would have the same branches', async () => {
    await inRepository('doubling', async (tx, repository_id) => {
      await addPull(tx, { repository_id, head_branch: 'old' })
      await addPull(tx, { repository_id, head_branch: 'new' })
      await addPull(tx, { repository_id, head_branch: 'x', base_branch: 'old' })
      await addPull(tx, { repository_id, head_branch: 'x', base_branch: 'new' })
      await renameBranchOfPulls(app, tx, repository_id, 'old', 'new')
      const after = ['CLOSED old to main', 'OPEN new to main', 'CLOSED x to old', 'OPEN x to new']
      expect(await seen(tx, repository_id)).toEqual(after)
    })
  })

  it('are closed where no other base exists', async () => {
    await inRepository('emptied', async (tx, repository_id) => {
      await addPull(tx, { repository_id, head_branch: 'x', base_branch: 'gone' })
      await followBranches(app, tx, repository_id, 'nowhere', [moved('gone')])
      expect(await seen(tx, repository_id)).toEqual(['CLOSED x to gone'])
    })
  })

  it('lose their scheduled merges when their base changes, but not when it is renamed', async () => {
    await inRepository('ordered', async (tx, repository_id) => {
      const ordered = async (base_branch: string) => {
        const { id: pull_request_id } = await addPull(tx, {
          repository_id,
          head_branch: 'x',
          base_branch,
        })
        const order = {
          pull_request_id,
          repository_id,
          scheduler_id: ownerId,
          scopes: null,
          style: 'merge',
        }
        await insertScheduledMerge(tx, {
          ...order,
          title: '',
          message: '',
          delete_branch: null,
          create_time: 0,
          due_time: 0,
        })
        return pull_request_id
      }
      const [lost, kept] = [await ordered('gone'), await ordered('old')]
      await followBranches(app, tx, repository_id, 'main', [moved('gone')])
      await renameBranchOfPulls(app, tx, repository_id, 'old', 'new')
      expect(await seen(tx, repository_id)).toEqual(['OPEN x to main', 'OPEN x to new'])
      expect([
        await findScheduledMerge(tx, lost),
        await findScheduledMerge(tx, kept),
      ]).toMatchObject([undefined, {}])
    })
  })

  it('are found by indexes, whatever their number', async () => {
    const plans = await transaction(app.db, (tx) =>
      plansOf(tx, async (db) => {
        const watched = db as Tx
        await rows.openHeadBranches(watched, 1, ['a', 'b'])
        await rows.openBaseBranches(watched, 1, ['a', 'b'])
        await rows.isBaseOfOpenPull(watched, 1, 'a')
        await rows.isHeadOfPullsElsewhere(watched, 1)
        await movedRows.moveHeads(watched, 1, 'a', COMMIT)
        await movedRows.closeHeads(watched, 1, 'a', 0)
        await movedRows.closeBases(watched, 1, 'a', 'b', 0)
        await movedRows.moveBases(watched, 1, 'a', 'b')
        await movedRows.renameHeads(watched, 1, 'a', 'b')
        await rows.pullsBehind(watched, 1, 10)
        await rows.pullsBehindHead(watched, 1)
        await rows.nextPullBehind(watched, [1, 2])
        await rows.latestOpenPull(watched, 1, 2, 'a')
        await rows.maintainedHeads(watched, 1, ['a'], 10)
        await deleteScheduledMergesInto(watched, 1, 'a')
      }),
    )
    expect(plans.length).toBe(15)
    // Of these there are few, however many there are of the repository.
    const behind = plans.slice(9, 12).map((plan) => plan.filter((step) => step.includes('issues')))
    expect(behind).toEqual(Array(3).fill(['SCAN issues USING INDEX pull_requests_behind']))
    const steps = plans.flat().filter((step) => /issues|other/.test(step))
    expect(
      steps.filter((step) => !/USING (COVERING )?INDEX|pull_requests_behind/.test(step)),
    ).toEqual([])
  })
})
