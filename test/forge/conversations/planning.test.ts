import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAccount } from '../../../src/forge/accounts/users/users.rows.ts'
import {
  countLabels,
  findLabel,
  insertLabel,
  listLabels,
} from '../../../src/forge/conversations/labels.rows.ts'
import {
  countMilestones,
  findMilestoneByTitle,
  insertMilestone,
  listMilestones,
} from '../../../src/forge/conversations/milestones.rows.ts'
import {
  countCommitStatuses,
  countLatestStates,
  deleteOldCommitStatuses,
  insertCommitStatus,
  listCommitStatuses,
  listLatestCommitStatuses,
} from '../../../src/forge/repositories/commits/commit-statuses.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db, Tx } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db
let repositoryId: number

beforeAll(async () => {
  db = await openTestDatabase()
  repositoryId = await transaction(db, insertRepository)
})
afterAll(() => db.destroy())

/** A repository without Git data. */
async function insertRepository(tx: Tx): Promise<number> {
  const owner = await insertAccount(tx, 'USER')
  const { rows } = await sql<{ id: number }>`insert into repositories
    (owner_id, name, name_key, private, default_branch, create_time, update_time, website, description)
    values (${owner}, 'engine', 'engine', 0, 'main', 1, 1, '', '') returning id`.execute(tx)
  return rows[0]?.id ?? 0
}

describe('labels', () => {
  const owner = () => ({ repository_id: repositoryId, organization_id: null })
  const acme = { repository_id: null, organization_id: 1 }

  it('are read in the order of an index, for any owner', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listLabels(watched, owner(), 0, 30)
      await countLabels(watched, owner())
      await listLabels(watched, acme, 0, 30)
    })
    expect(plans).toEqual([
      ['SEARCH labels USING INDEX labels_of_repository (repository_id=?)'],
      ['SEARCH labels USING COVERING INDEX labels_of_repository (repository_id=?)'],
      ['SEARCH labels USING INDEX labels_of_organization (organization_id=?)'],
    ])
  })

  it('belong to either a repository or an organisation', async () => {
    const label = { name: 'bug', color: 'ff0000', description: '', exclusive: 0, archived: 0 }
    const insert = (of: { repository_id: number | null; organization_id: number | null }) =>
      transaction(db, (tx) => insertLabel(tx, of, label))
    const { id } = await insert(owner())
    expect(await findLabel(db, acme, id)).toBeUndefined()
    await expect(insert({ repository_id: null, organization_id: null })).rejects.toThrow(
      'labels_owner',
    )
    await expect(insert({ repository_id: repositoryId, organization_id: 1 })).rejects.toThrow(
      'labels_owner',
    )
  })

  it('are deleted with their repository', async () => {
    const gone = await transaction(db, insertRepository)
    const of = { repository_id: gone, organization_id: null }
    const label = { name: 'bug', color: 'ff0000', description: '', exclusive: 0, archived: 0 }
    await transaction(db, (tx) => insertLabel(tx, of, label))
    await db.deleteFrom('repositories').where('id', '=', gone).execute()
    expect(await countLabels(db, of)).toBe(0)
  })
})

describe('milestones', () => {
  const all = { state: undefined, titlePart: '' }

  it('are read in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listMilestones(watched, repositoryId, all, 0, 30)
      await listMilestones(watched, repositoryId, { state: 'open', titlePart: '' }, 0, 30)
      await listMilestones(watched, repositoryId, { state: 'open', titlePart: 'x' }, 0, 30)
      await countMilestones(watched, repositoryId, { state: 'open', titlePart: '' })
      await findMilestoneByTitle(watched, repositoryId, 'v1')
    })
    expect(plans).toEqual([
      ['SEARCH milestones USING INDEX milestones_by_due (repository_id=?)'],
      ['SEARCH milestones USING INDEX milestones_by_state (repository_id=? AND state=?)'],
      ['SEARCH milestones USING INDEX milestones_by_state (repository_id=? AND state=?)'],
      ['SEARCH milestones USING COVERING INDEX milestones_by_state (repository_id=? AND state=?)'],
      ['SEARCH milestones USING INDEX milestones_by_title (repository_id=? AND title=?)'],
    ])
  })

  it('are ordered by date, those without a date last, and then by title', async () => {
    const milestones: [title: string, dueTime: number | null][] = [
      ['someday', null],
      ['late', 300],
      ['b', 200],
      ['a', 200],
      ['never', null],
    ]
    await transaction(db, async (tx) => {
      for (const [title, due_time] of milestones) {
        const times = { create_time: 1, update_time: 1, close_time: null }
        const texts = { title, description: '', state: 'open' as const }
        await insertMilestone(tx, { repository_id: repositoryId, due_time, ...texts, ...times })
      }
    })
    const listed = await listMilestones(db, repositoryId, all, 0, 30)
    expect(listed.map(({ title }) => title)).toEqual(['a', 'b', 'late', 'never', 'someday'])
  })
})

describe('statuses of a commit', () => {
  const commitOf = (digit: string) => ({ repository_id: repositoryId, commit_id: digit.repeat(40) })
  const status = (digit: string, context: string, state: 'success' | 'failure' = 'success') => ({
    ...commitOf(digit),
    context,
    state,
    target_url: '',
    description: '',
    creator_id: 1,
    create_time: 1,
  })

  it('are read in the order of an index', async () => {
    const plans = await plansOf(db, (watched) =>
      listCommitStatuses(
        watched,
        commitOf('1'),
        { state: undefined, order: 'newest first' },
        0,
        30,
      ),
    )
    expect(plans).toEqual([
      ['SEARCH commit_statuses USING PRIMARY KEY (repository_id=? AND commit_id=?)'],
    ])
  })

  it('combine at a cost that depends on the number of contexts only', async () => {
    const plans = await plansOf(db, async (watched) => {
      await countLatestStates(watched, commitOf('1'))
      await listLatestCommitStatuses(watched, commitOf('1'), 0, 30)
    })
    const contexts = 'SEARCH contexts USING PRIMARY KEY (repository_id=? AND commit_id=?)'
    const status =
      'SEARCH commit_statuses USING PRIMARY KEY (repository_id=? AND commit_id=? AND number=?)'
    expect(plans).toEqual([
      [contexts, 'USE TEMP B-TREE FOR GROUP BY'],
      [contexts, status, 'USE TEMP B-TREE FOR ORDER BY'],
    ])
  })

  it('are numbered per commit, and the newest of a context is its latest', async () => {
    await transaction(db, async (tx) => {
      for (const state of ['failure', 'success'] as const)
        await insertCommitStatus(tx, status('2', 'ci', state))
      await insertCommitStatus(tx, status('2', 'lint'))
      await insertCommitStatus(tx, status('3', 'ci', 'failure'))
    })
    const latest = await listLatestCommitStatuses(db, commitOf('2'), 0, 30)
    expect(latest.map(({ number, context, state }) => [number, context, state])).toEqual([
      [3, 'lint', 'success'],
      [2, 'ci', 'success'],
    ])
    expect(await countLatestStates(db, commitOf('2'))).toEqual(new Map([['success', 2]]))
    expect(await countLatestStates(db, commitOf('3'))).toEqual(new Map([['failure', 1]]))
    expect(await countCommitStatuses(db, commitOf('2'), undefined)).toBe(3)
  })

  it('are pruned when they are old, except the latest of each context', async () => {
    await transaction(db, async (tx) => {
      for (const context of ['rare', 'ci', 'ci', 'ci'])
        await insertCommitStatus(tx, status('4', context))
      await deleteOldCommitStatuses(tx, commitOf('4'), 2)
    })
    const left = await listCommitStatuses(
      db,
      commitOf('4'),
      { state: undefined, order: 'oldest first' },
      0,
      30,
    )
    expect(left.map(({ number, context }) => [number, context])).toEqual([
      [1, 'rare'],
      [3, 'ci'],
      [4, 'ci'],
    ])
    const next = await transaction(db, (tx) => insertCommitStatus(tx, status('4', 'ci')))
    expect(next.number).toBe(5)
  })
})
