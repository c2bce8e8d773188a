import { create, fromJsonString, type MessageInitShape } from '@bufbuild/protobuf'
import { beforeEach, describe, expect, it } from 'vitest'
import { MemoSchema, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { CreateMemoRequestSchema, MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { atSecond } from '../../../src/forge/core/wire/times.ts'
import { memoMessage, memoPayload, memoService } from '../../../src/forge/memos/memo.service.ts'
import { createComment, createMemo } from '../../../src/forge/memos/memos.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { callContext } from '../../support/call.ts'
import { caller, draft, reader } from './test-users.ts'

let app: TestApp
let bob: User

beforeEach(async () => {
  app = await testApp()
  bob = await addUser(app, 'bob', { user_id: 'bob-1' })
})

const { method } = MemoService

/** Creates a memo of bob from a binary message. */
async function make(memo: MessageInitShape<typeof MemoSchema>) {
  const context = callContext(method.createMemo, { caller: caller(bob) })
  const made = await memoService(app).createMemo(
    create(CreateMemoRequestSchema, { memo, memoId: 'x' }),
    context,
  )
  return create(MemoSchema, made)
}

describe('a memo in binary', () => {
  it('drops fractions of seconds', async () => {
    const { createTime, updateTime } = await make({
      createTime: { seconds: -5n, nanos: 999_999_999 },
      updateTime: { seconds: 253_402_300_799n },
    })
    expect([createTime?.seconds, createTime?.nanos, updateTime?.seconds]).toEqual([
      -5n,
      0,
      253_402_300_799n,
    ])
  })

  // JSON cannot express any of these.
  it.each<[string, MessageInitShape<typeof MemoSchema>, string]>([
    ['a time before the year 1', { createTime: { seconds: -62_135_596_801n } }, 'memo.create_time'],
    [
      'a time after the year 9999',
      { updateTime: { seconds: 253_402_300_800n } },
      'memo.update_time',
    ],
    ['a negative fraction', { createTime: { seconds: 1n, nanos: -1 } }, 'memo.create_time'],
    [
      'a fraction of more than a second',
      { createTime: { seconds: 1n, nanos: 1e9 } },
      'memo.create_time',
    ],
    ['an unknown visibility', { visibility: 9 as Visibility }, 'memo.visibility'],
    ['an unknown state', { state: 9 as State }, 'memo.state'],
  ])('is rejected with %s', async (_, memo, field) => {
    await expect(make(memo)).rejects.toMatchObject({ reason: 'INVALID_FIELD', metadata: { field } })
  })
})

describe('the payload about a comment', () => {
  it('is the complete comment as proto3 JSON', async () => {
    await createMemo(app, caller(bob), draft('Top', { uid: 'top', visibility: 'PUBLIC' }))
    const text = memoPayload(
      await createComment(app, caller(bob), 'top', draft('*Yes* #a', { uid: 'c' })),
    )
    expect(JSON.parse(text)).toEqual({
      name: 'memos/c',
      state: 'NORMAL',
      creator: 'users/bob-1',
      createTime: '2026-05-01T10:00:00Z',
      updateTime: '2026-05-01T10:00:00Z',
      content: '*Yes* #a',
      visibility: 'PUBLIC',
      tags: ['a'],
      parent: 'memos/top',
      property: {},
      relations: [
        {
          type: 'COMMENT',
          memo: { name: 'memos/c', snippet: 'Yes #a' },
          relatedMemo: { name: 'memos/top', snippet: 'Top' },
        },
      ],
      snippet: 'Yes #a',
    })
    expect(fromJsonString(MemoSchema, text)).toMatchObject({ name: 'memos/c' })
  })
})

it('the message of a memo is what protobuf-es creates', async () => {
  const app = await testApp()
  const ada = await addUser(app, 'ada')
  const view = await createMemo(app, caller(ada), draft('# Title\n\n#tag', { uid: 'one' }))
  const { create_time, update_time, content, snippet, title } = view.memo
  const expected = create(MemoSchema, {
    name: 'memos/one',
    state: State.NORMAL,
    creator: 'users/ada',
    createTime: atSecond(create_time),
    updateTime: atSecond(update_time),
    content,
    visibility: Visibility.PRIVATE,
    tags: ['tag'],
    property: { title },
    snippet,
  })
  expect(memoMessage(view, reader(ada))).toStrictEqual(expected)
})
