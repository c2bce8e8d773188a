import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { labelsOfConversations } from '../../../../src/forge/conversations/labels.rows.ts'
import {
  assigneesOfConversations,
  unseenConversations,
} from '../../../../src/forge/conversations/participants.rows.ts'
import {
  findPullRequest,
  findPullRequestBetween,
  findPullRequestByMergeCommit,
} from '../../../../src/forge/pulls/heads/pull-requests.rows.ts'
import {
  countPulls,
  type PullFilter,
  type PullSort,
  pageOfPulls,
} from '../../../../src/forge/pulls/lists/pull-lists.rows.ts'
import type { PullRequest } from '../../../../src/forge/pulls/schema.ts'
import { findBranches } from '../../../../src/forge/repositories/refs/branches.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { addOrganization, addPull, addRepository } from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db
let repositoryId = 0
let pulls: PullRequest[] = []

const ALL: PullFilter = {
  isOpen: undefined,
  baseBranch: '',
  milestoneId: undefined,
  posterId: undefined,
  labelIds: [],
}
const SORTS: readonly PullSort[] = [
  'newest',
  'oldest',
  'recentupdate',
  'leastupdate',
  'recentclose',
  'mostcomment',
  'leastcomment',
]

beforeAll(async () => {
  db = await openTestDatabase()
  pulls = await transaction(db, async (tx) => {
    const owner_id = await addOrganization(tx, { name: 'acme' })
    const elsewhere = await addRepository(tx, { owner_id, name: 'other' })
    const { id: repository_id } = await addRepository(tx, { owner_id, name: 'engine' })
    repositoryId = repository_id
    await addPull(tx, { repository_id: elsewhere.id })
    const added: PullRequest[] = []
    // Small numbers, so that each column has equal ones and the next one decides.
    for (let i = 0; i < 60; i++) {
      const state = (['OPEN', 'CLOSED', 'MERGED'] as const)[i % 3] ?? 'OPEN'
      const times = {
        create_time: i % 7,
        update_time: i % 4,
        close_time: state === 'OPEN' ? null : i % 5,
      }
      added.push(await addPull(tx, { repository_id, state, comment_count: (i * i) % 6, ...times }))
    }
    return added
  })
})
afterAll(() => db.destroy())

/** The same order, told in another way. */
const KEYS: Record<PullSort, (pull: PullRequest) => number[]> = {
  newest: ({ create_time, id }) => [-create_time, -id],
  oldest: ({ create_time, id }) => [create_time, id],
  recentupdate: ({ update_time, create_time, id }) => [-update_time, -create_time, -id],
  leastupdate: ({ update_time, create_time, id }) => [update_time, create_time, id],
  recentclose: ({ close_time, create_time, id }) => [-(close_time ?? 0), -create_time, -id],
  mostcomment: ({ comment_count, create_time, id }) => [-comment_count, -create_time, -id],
  leastcomment: ({ comment_count, create_time, id }) => [comment_count, -create_time, -id],
}

function byKey(sort: PullSort) {
  return (a: PullRequest, b: PullRequest) => {
    const [one, other] = [KEYS[sort](a), KEYS[sort](b)]
    const at = one.findIndex((value, i) => value !== other[i])
    return (one[at] ?? 0) - (other[at] ?? 0)
  }
}

describe('lists of pull requests', () => {
  it.each(SORTS)('by %s are the same from both ends', async (sort) => {
    for (const isOpen of [undefined, true, false]) {
      const filter = { ...ALL, isOpen }
      const expected = pulls.filter(
        ({ state }) => isOpen === undefined || (state === 'OPEN') === isOpen,
      )
      const ids = expected.sort(byKey(sort)).map(({ id }) => id)
      const total = await countPulls(db, repositoryId, filter)
      expect(total).toBe(ids.length)
      const listed: number[] = []
      for (let offset = 0; offset < total + 7; offset += 7) {
        const page = await pageOfPulls(
          db,
          repositoryId,
          { filter, sort },
          { offset, limit: 7 },
          total,
        )
        listed.push(...page.map(({ id }) => id))
      }
      expect(listed).toEqual(ids)
    }
  })

  it('are read by an index in the order of the list, on the first page and on the last', async () => {
    const indexOf: Record<PullSort, string> = {
      newest: 'creation',
      oldest: 'creation',
      recentupdate: 'update',
      leastupdate: 'update',
      recentclose: 'closing',
      mostcomment: 'most_comments',
      leastcomment: 'least_comments',
    }
    for (const sort of SORTS) {
      for (const [isOpen, index, columns] of [
        [undefined, `issues_by_${indexOf[sort]}`, '(repository_id=? AND is_pull=?)'],
        [
          true,
          `issues_in_state_by_${indexOf[sort]}`,
          '(repository_id=? AND is_pull=? AND <expr>=?)',
        ],
        [
          false,
          `issues_in_state_by_${indexOf[sort]}`,
          '(repository_id=? AND is_pull=? AND <expr>=?)',
        ],
      ] as const) {
        const plan = [
          'SEARCH issues USING INTEGER PRIMARY KEY (rowid=?)',
          'LIST SUBQUERY 1',
          `SEARCH issues USING COVERING INDEX ${index} ${columns}`,
          // Of the page.
          'USE TEMP B-TREE FOR ORDER BY',
        ]
        const plans = await plansOf(db, async (watched) => {
          for (const offset of [0, 9_990]) {
            await pageOfPulls(
              watched,
              1,
              { filter: { ...ALL, isOpen }, sort },
              { offset, limit: 30 },
              10_000,
            )
          }
        })
        expect(plans, sort).toEqual([plan, plan])
      }
    }
  })

  it.each([
    [
      'a base',
      { baseBranch: 'main' },
      'pull_requests_by_base (repository_id=? AND base_branch=? AND state=?)',
    ],
    [
      'a milestone',
      { milestoneId: 1 },
      'issues_by_milestone (milestone_id=? AND repository_id=? AND is_pull=? AND state=?)',
    ],
    [
      'a poster',
      { posterId: 1 },
      'issues_by_poster (repository_id=? AND is_pull=? AND poster_id=? AND state=?)',
    ],
  ])('of %s that are open are found and counted by an index', async (_, fields, index) => {
    const filter = { ...ALL, isOpen: true, ...fields }
    const [page, count] = await plansOf(db, async (watched) => {
      await pageOfPulls(watched, 1, { filter, sort: 'newest' }, { offset: 0, limit: 30 }, 100)
      await countPulls(watched, 1, filter)
    })
    const found = `SEARCH issues USING COVERING INDEX ${index}`
    expect(page).toContain(found)
    expect(page?.filter((step) => step.startsWith('USE TEMP'))).toHaveLength(1)
    expect(count).toEqual([found])
  })

  it('and their content are found by indexes', async () => {
    // The ids or names of the parameter.
    const IDS = 'SCAN json_each VIRTUAL TABLE INDEX 1:'
    const plans = await plansOf(db, async (watched) => {
      await findPullRequest(watched, 1, 1)
      await findPullRequestByMergeCommit(watched, 1, 'merge')
      const branches = {
        repository_id: 1,
        base_branch: 'main',
        head_repository_id: 2,
        head_branch: 'fix',
      }
      await findPullRequestBetween(watched, branches)
      await labelsOfConversations(watched, [1, 2])
      await assigneesOfConversations(watched, [1, 2])
      await unseenConversations(watched, [1, 2], 1)
      await findBranches(watched, [
        [1, 'main'],
        [2, 'fix'],
      ])
    })
    const searches = plans.map((steps) => steps.filter((step) => /^(?:SEARCH|SCAN)/.test(step)))
    expect(searches).toEqual([
      ['SEARCH issues USING INDEX sqlite_autoindex_issues_1 (repository_id=? AND number=?)'],
      [
        'SEARCH issues USING INDEX pull_requests_by_merge_commit (repository_id=? AND merge_commit=?)',
      ],
      [
        'SEARCH issues USING INDEX pull_requests_open (head_repository_id=? AND head_branch=? AND repository_id=? AND base_branch=?)',
      ],
      ['SEARCH issues USING INDEX pull_requests_of_head (head_repository_id=? AND head_branch=?)'],
      [
        'SEARCH issue_labels USING PRIMARY KEY (issue_id=?)',
        IDS,
        'SEARCH labels USING INTEGER PRIMARY KEY (rowid=?)',
      ],
      ['SEARCH issue_assignees USING PRIMARY KEY (issue_id=?)', IDS],
      [
        'SEARCH issue_participants USING INDEX pull_participants_user (user_id=? AND issue_id=?)',
        IDS,
        'SEARCH issues USING INTEGER PRIMARY KEY (rowid=?)',
      ],
      ['SEARCH branches USING PRIMARY KEY (repository_id=? AND name=?)', IDS],
    ])
  })
})
