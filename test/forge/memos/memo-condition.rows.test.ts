import { beforeAll, describe, expect, it } from 'vitest'
import { type MemoCondition, memoConditionSql } from '../../../src/forge/memos/memo-list.rows.ts'
import { readMemoFilter } from '../../../src/forge/memos/memo-list.ts'
import { MAX_NODES } from '../../../src/platform/filters/limits.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { storeMemo } from '../../support/memo-rows.ts'

let app: TestApp

beforeAll(async () => {
  app = await testApp()
  const [ada, bob] = [await addUser(app, 'ada'), await addUser(app, 'bob')]
  const store = async (
    creator: typeof ada,
    fields: Parameters<typeof storeMemo>[2],
    tags: string[] = [],
  ) => {
    const { memo } = await storeMemo(app, creator, {
      create_time: 100,
      update_time: 100,
      ...fields,
    })
    const rows = tags.map((tag, position) => ({ memo_id: memo.id, tag, position }))
    if (rows.length > 0) await app.db.insertInto('memo_tags').values(rows).execute()
  }
  await store(ada, { uid: 'plan', content: 'Grand Plan', pinned: 1, has_link: 1 }, ['work', 'big'])
  await store(ada, {
    uid: 'half',
    content: '50% of it',
    visibility: 'PRIVATE',
    has_code: 1,
    create_time: 200,
  })
  await store(bob, { uid: 'list', content: 'a_b\\c', visibility: 'PROTECTED', has_task_list: 1 }, [
    'home',
  ])
  await store(bob, {
    uid: 'todo',
    content: 'ÉTÉ\0\n\nété',
    has_task_list: 1,
    has_incomplete_tasks: 1,
    update_time: 300,
  })
})

async function uidsFor(condition: MemoCondition | undefined): Promise<string> {
  const found = await app.db
    .selectFrom('memos')
    .select('uid')
    .$if(condition !== undefined, (query) =>
      query.where((eb) => memoConditionSql(eb, condition ?? { kind: 'and', conditions: [] })),
    )
    .orderBy('id')
    .execute()
  return found.map(({ uid }) => uid).join(' ')
}

describe('a memo filter', () => {
  it.each([
    ['content.contains("grand plan")', 'plan', 'the case of ASCII does not count'],
    ['content.contains("")', 'plan half list todo', 'everything contains nothing'],
    ['content.contains("%")', 'half', 'wildcards are letters like others'],
    ['content.contains("_")', 'list', 'wildcards are letters like others'],
    [String.raw`content.contains("\\")`, 'list', 'so is what escapes them'],
    ['content.contains("ÉTÉ")', 'todo', 'beyond ASCII'],
    ['content.contains("été")', 'todo', 'NUL ends no text'],
    [String.raw`content.contains("\u0000")`, 'todo', 'NUL is a character like others'],
    ['content.contains("\' or 1=1 --")', '', 'values are no SQL'],
    ['creator == "users/ada"', 'plan half', ''],
    ['creator != "users/ada"', 'list todo', ''],
    ['creator in ["users/ada", "users/bob"]', 'plan half list todo', ''],
    ['creator == "users/nobody"', '', 'nothing is by nobody'],
    ['creator != "users/nobody"', 'plan half list todo', 'and everything is not'],
    ['visibility == "PRIVATE"', 'half', ''],
    ['visibility in ["PUBLIC", "PROTECTED"]', 'plan list todo', ''],
    ['visibility in []', '', 'an empty list has nothing'],
    ['"work" in tags', 'plan', ''],
    ['tag in ["big", "home"]', 'plan list', ''],
    ['tag in []', '', 'an empty list has nothing'],
    ['!("work" in tags)', 'half list todo', ''],
    ['created_ts > 100', 'half', ''],
    ['created_ts != 100', 'half', ''],
    ['updated_ts >= timestamp("1970-01-01T00:04:59.5Z")', 'todo', 'a fraction of a second'],
    ['created_ts < now', 'plan half list todo', ''],
    ['pinned', 'plan', ''],
    ['!pinned', 'half list todo', ''],
    ['has_link || has_code', 'plan half', ''],
    ['has_task_list && !has_incomplete_tasks', 'list', ''],
    ['pinned || has_code && creator == "users/bob"', 'plan', '&& binds tighter'],
    ['(pinned || has_task_list) && creator == "users/bob"', 'list todo', ''],
  ])('%s finds %j %s', async (filter, uids) => {
    expect(await uidsFor(await readMemoFilter(app, filter))).toBe(uids)
  })

  it('may be nested to the limit', async () => {
    const depth = Math.floor(MAX_NODES / 3)
    const filter = `${'pinned && (has_link || '.repeat(depth / 2)}pinned${')'.repeat(depth / 2)}`
    expect(await uidsFor(await readMemoFilter(app, filter))).toBe('plan')
    const negations = `${'!'.repeat(MAX_NODES - 2)}pinned`
    expect(await uidsFor(await readMemoFilter(app, negations))).toBe('plan')
  })
})
