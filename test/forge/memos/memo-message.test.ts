import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { MemoSchema, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { atSecond } from '../../../src/forge/core/wire/times.ts'
import { memoMessage } from '../../../src/forge/memos/memo.service.ts'
import { createMemo } from '../../../src/forge/memos/memos.ts'
import { addUser, testApp } from '../../support/app.ts'
import { caller, draft, reader } from './test-users.ts'

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
