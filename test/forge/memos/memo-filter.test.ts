import { beforeAll, describe, expect, it } from 'vitest'
import { nowSeconds } from '../../../src/forge/core/core.ts'
import { readMemoFilter } from '../../../src/forge/memos/memo-list.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'

let app: TestApp
let now: number
const ids: Record<string, number> = {}

beforeAll(async () => {
  app = await testApp()
  now = nowSeconds(app.clock)
  ids.ada = (await addUser(app, 'Ada', { user_id: 'ada-1' })).id
  ids.dan = (await addUser(app, 'dan', { state: 'ARCHIVED' })).id
})

describe('readMemoFilter', () => {
  it('returns undefined for a blank filter', async () => {
    expect(await readMemoFilter(app, ' ')).toBeUndefined()
  })

  it.each([
    ['content.contains("a b")', { kind: 'content', part: 'a b' }],
    ['visibility == "PUBLIC"', { kind: 'visibility', among: ['PUBLIC'] }],
    [
      'visibility in ["PRIVATE", "PROTECTED"]',
      { kind: 'visibility', among: ['PRIVATE', 'PROTECTED'] },
    ],
    ['"x" in tags', { kind: 'tags', among: ['x'] }],
    ['tag in ["x", "y"]', { kind: 'tags', among: ['x', 'y'] }],
    ['created_ts >= 5', { kind: 'time', column: 'create_time', operator: '>=', seconds: 5 }],
    [
      'updated_ts < timestamp("1970-01-01T00:01:00Z")',
      { kind: 'time', column: 'update_time', operator: '<', seconds: 60 },
    ],
    ['pinned', { kind: 'flag', column: 'pinned' }],
    ['has_link == true', { kind: 'flag', column: 'has_link' }],
    ['has_code', { kind: 'flag', column: 'has_code' }],
    ['has_task_list', { kind: 'flag', column: 'has_task_list' }],
    ['has_incomplete_tasks', { kind: 'flag', column: 'has_incomplete_tasks' }],
  ])('reads %s', async (filter, term) => {
    expect(await readMemoFilter(app, filter)).toEqual({ kind: 'term', term })
    expect(await readMemoFilter(app, `!(${filter})`)).toEqual({
      kind: 'not',
      condition: { kind: 'term', term },
    })
  })

  it('evaluates now by the clock of the application', async () => {
    const term = { kind: 'time', column: 'create_time', operator: '>', seconds: now - 3600 }
    expect(await readMemoFilter(app, 'created_ts > now - duration("1h")')).toEqual({
      kind: 'term',
      term,
    })
  })

  it.each([
    ['creator == "users/ada"', ['ada'], 'a username, in any case'],
    ['creator == "users/ada-1"', ['ada'], 'a chosen id'],
    ['creator == "users/dan"', ['dan'], 'an archived account, whose memos stay'],
    ['creator == "users/nobody"', [], 'an unknown name, which stands for nobody'],
    ['creator in ["users/dan", "users/nobody", "users/Ada"]', ['dan', 'ada'], 'several'],
  ])('looks up the creator of %s: %s', async (filter, names) => {
    const term = { kind: 'creator', ids: names.map((name) => ids[name]) }
    expect(await readMemoFilter(app, filter)).toEqual({ kind: 'term', term })
  })

  it('allows eight content terms, and no more', async () => {
    const parts = Array.from({ length: 9 }, (_, i) => `!(pinned || content.contains("${i}"))`)
    expect(await readMemoFilter(app, parts.slice(1).join(' && '))).toBeDefined()
    await expect(readMemoFilter(app, parts.join(' && '))).rejects.toThrow('INVALID_FILTER')
  })

  it.each([
    ['creator == "ada"', 'no resource name'],
    ['creator == "users/"', 'an empty name'],
    ['creator == "users/ada/memos"', 'a name below an account'],
    ['visibility == "SECRET"', 'an unknown visibility'],
    ['visibility == "public"', 'a visibility in another case'],
    ['tag == "x"', 'a tag compared'],
    ['tags == "x"', 'the tags compared'],
    ['content == "x"', 'the content compared'],
    ['creator_id == 1', 'an internal number'],
    ['state == "ARCHIVED"', 'a field that filters have no business with'],
  ])('refuses %s: %s', async (filter) => {
    await expect(readMemoFilter(app, filter)).rejects.toThrow('INVALID_FILTER')
  })
})
