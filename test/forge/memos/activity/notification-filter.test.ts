import { beforeAll, describe, expect, it } from 'vitest'
import { nowSeconds } from '../../../../src/forge/core/core.ts'
import { readNotificationFilter } from '../../../../src/forge/memos/activity/notifications.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'

let app: TestApp
let adaId: number

beforeAll(async () => {
  app = await testApp()
  adaId = (await addUser(app, 'ada')).id
})

describe('readNotificationFilter', () => {
  it.each([
    [' ', []],
    ['status == "UNREAD"', [{ kind: 'status', among: ['UNREAD'] }]],
    ["'UNREAD' == status", [{ kind: 'status', among: ['UNREAD'] }]],
    // A negated status is the other statuses.
    ['status != "UNREAD"', [{ kind: 'status', among: ['ARCHIVED'] }]],
    ['type == "MEMO_COMMENT"', [{ kind: 'type', among: ['MEMO_COMMENT'] }]],
    ['type != "MEMO_COMMENT"', [{ kind: 'type', among: ['MEMO_MENTION'] }]],
    ['sender == "users/nobody"', [{ kind: 'sender', ids: [] }]],
    [
      'create_time >= timestamp("1970-01-01T00:01:00Z")',
      [{ kind: 'create_time', operator: '>=', seconds: 60 }],
    ],
    ['create_time != 60', [{ kind: 'create_time', operator: '!=', seconds: 60 }]],
    [
      'status == "UNREAD" && (type == "MEMO_MENTION" && create_time < 60)',
      [
        { kind: 'status', among: ['UNREAD'] },
        { kind: 'type', among: ['MEMO_MENTION'] },
        { kind: 'create_time', operator: '<', seconds: 60 },
      ],
    ],
  ])('%j demands %j', async (filter, terms) => {
    expect(await readNotificationFilter(app, filter)).toEqual(terms)
  })

  it('resolves the sender', async () => {
    expect(await readNotificationFilter(app, 'sender == "users/Ada"')).toEqual([
      { kind: 'sender', ids: [adaId] },
    ])
  })

  it('evaluates now by the clock of the application', async () => {
    const seconds = nowSeconds(app.clock) - 60
    const terms = [{ kind: 'create_time', operator: '>', seconds }]
    expect(await readNotificationFilter(app, 'create_time > now - duration("1m")')).toEqual(terms)
  })

  it.each([
    ['status == "READ"', 'an unknown status'],
    ['status == "STATUS_UNSPECIFIED"', 'a status that no notification has'],
    ['status == "unread"', 'a status in another case'],
    ['type == "REACTION"', 'an unknown type'],
    ['sender == "ada"', 'no resource name'],
    ['sender != "users/ada"', 'an operator that only statuses and types take'],
    ['status in ["UNREAD"]', 'a list'],
    ['status == "UNREAD" || type == "MEMO_COMMENT"', 'alternatives'],
    ['!(status == "UNREAD")', 'negation'],
    ['receiver == "users/ada"', 'an unknown field'],
    ['create_time == "2026-05-01T10:00:00Z"', 'a time as a string'],
  ])('refuses %s: %s', async (filter) => {
    await expect(readNotificationFilter(app, filter)).rejects.toThrow('INVALID_FILTER')
  })
})
