import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countRepositories } from '../../../../src/forge/repositories/search/repository-search.rows.ts'
import {
  countTopics,
  detachTopics,
  searchTopics,
  topicsOf,
} from '../../../../src/forge/repositories/search/topics.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('topics', () => {
  it('are searched in the order of an index, and found by indexes for repositories', async () => {
    const plans = await plansOf(db, async (watched) => {
      await searchTopics(watched, '', 0, 30)
      await searchTopics(watched, 'a', 0, 30)
      await countTopics(watched, 'a')
      await topicsOf(watched, [1])
    })
    expect(plans.slice(0, 3)).toEqual([
      ['SEARCH topics USING INDEX topics_by_count (public_count>?)'],
      ['SEARCH topics USING INDEX topics_by_count (public_count>?)'],
      ['SEARCH topics USING COVERING INDEX topics_by_count (public_count>?)'],
    ])
    expect(plans[3]).toEqual(
      expect.arrayContaining([
        'SEARCH repository_topics USING PRIMARY KEY (repository_id=?)',
        'SEARCH topics USING INTEGER PRIMARY KEY (rowid=?)',
      ]),
    )
  })

  it('lead to their repositories without rows of others', async () => {
    const reader = {
      userId: 1,
      needsSignIn: false,
      restricted: false,
      publicOnly: false,
      administrator: 'write',
    } as const
    const [plan = []] = await plansOf(db, (watched) =>
      countRepositories(watched, { reader, topics: ['a', 'b'] }),
    )
    expect(plan.join('\n')).toContain(
      'SEARCH repository_topics USING COVERING INDEX repository_topics_topic (topic_id=?)',
    )
    expect(plan.filter((step) => step.startsWith('SCAN'))).toEqual([])
  })

  it('are deleted by indexes', async () => {
    const plans = await plansOf(db, (watched) =>
      transaction(watched, (tx) => detachTopics(tx, 1, ['a'])),
    )
    expect(plans.flat().filter((step) => step.startsWith('SCAN'))).toEqual([])
  })
})
