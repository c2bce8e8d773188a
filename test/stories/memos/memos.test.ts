import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoSchema, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { type ListMemosRequest, MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type Actor,
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let testUsers: TestUsers
beforeEach(async () => {
  server = await startTestServer()
  testUsers = await createTestUsers(server.url)
})
afterEach(() => server.stop())

const memos = (actor?: Actor) =>
  createClient(MemoService, transportTo(server.url, 'gRPC', actor?.authorization))
const publicMemo = (memoId: string, seconds?: number) =>
  memos(testUsers.bob).createMemo({
    memo: {
      visibility: Visibility.PUBLIC,
      ...(seconds && { createTime: { seconds: BigInt(seconds) } }),
    },
    memoId,
  })

describe('memos with the same id', () => {
  it('are created once, even with concurrent requests', async () => {
    const attempts = Array.from({ length: 10 }, (_, i) =>
      memos(i % 2 ? testUsers.bob : testUsers.carol).createMemo({
        memo: { content: `${i}` },
        memoId: 'same',
      }),
    )
    const outcomes = await Promise.allSettled(attempts)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refusals = outcomes.flatMap((one) =>
      one.status === 'rejected' ? ConnectError.from(one.reason).code : [],
    )
    expect(new Set(refusals)).toEqual(new Set([Code.AlreadyExists]))
  })
})

describe('changing a memo', () => {
  it('loses no field when fifty requests change different fields concurrently', async () => {
    const { name } = await publicMemo('one')
    const changes: [string, MessageInitShape<typeof MemoSchema>][] = [
      ['content', { content: '#done' }],
      ['visibility', { visibility: Visibility.PROTECTED }],
      ['pinned', { pinned: true }],
      ['state', { state: State.ARCHIVED }],
      ['create_time', { createTime: { seconds: 5n } }],
    ]
    const requests = Array.from({ length: 50 }, (_, i) => {
      const [path, values] = changes[i % changes.length] ?? ['', {}]
      return memos(testUsers.bob).updateMemo({
        memo: { ...values, name },
        updateMask: { paths: [path] },
      })
    })
    await Promise.all(requests)
    const all = Object.assign({}, ...changes.map(([, values]) => values))
    expect(await memos(testUsers.bob).getMemo({ name })).toMatchObject({ ...all, tags: ['done'] })
  })

  it('uses the members of a REST body as the mask when there is none', async () => {
    await publicMemo('one')
    const response = await fetch(`${server.url}/api/v1/memos/one`, {
      method: 'PATCH',
      headers: { authorization: testUsers.bob.authorization, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'memos/one',
        content: 'new',
        tags: ['x'],
        createTime: '2020-01-01T00:00:00.9Z',
      }),
    })
    expect(await response.json()).toMatchObject({
      content: 'new',
      visibility: 'PUBLIC',
      tags: [],
      createTime: '2020-01-01T00:00:00Z',
    })
  })

  it('to private hides comments, also from their authors, who can still delete them', async () => {
    const { name } = await publicMemo('one')
    const comment = await memos(testUsers.carol).createMemoComment({
      name,
      comment: { content: 'Nice' },
    })
    await memos(testUsers.bob).updateMemo({
      memo: { name, visibility: Visibility.PRIVATE },
      updateMask: { paths: ['visibility'] },
    })
    await expect(memos(testUsers.carol).getMemo({ name: comment.name })).rejects.toThrow(
      'does not have permission',
    )
    await memos(testUsers.carol).deleteMemo({ name: comment.name })
    expect((await memos(testUsers.bob).listMemoComments({ name })).memos).toEqual([])
  })
})

describe('paging through memos', () => {
  const walk = async (
    request: Partial<Pick<ListMemosRequest, 'orderBy' | 'filter'>>,
    between: () => Promise<unknown>,
  ) => {
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await memos(testUsers.carol).listMemos({ ...request, pageSize: 2, pageToken })
      seen.push(...page.memos.map(({ name }) => name.slice('memos/'.length)))
      pageToken = page.nextPageToken
      await between()
    } while (pageToken !== '')
    return seen
  }

  it('repeats and skips nothing while memos are created and deleted', async () => {
    for (let i = 1; i <= 9; i++) await publicMemo(`m${i}`, i)
    let step = 0
    const seen = await walk({}, async () => {
      step += 1
      await publicMemo(`late-${step}`)
      if (step === 1) await memos(testUsers.bob).deleteMemo({ name: 'memos/m8' })
      if (step === 2) await memos(testUsers.bob).deleteMemo({ name: 'memos/m3' })
    })
    expect(seen).toEqual(['m9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm2', 'm1'])
  })

  it('can be ordered by name, which its tokens contain', async () => {
    for (const id of ['b', 'A', 'c', 'a', 'B']) await publicMemo(id, 5)
    expect(await walk({ orderBy: 'name asc' }, async () => {})).toEqual(['A', 'B', 'a', 'b', 'c'])
    expect(await walk({ orderBy: 'create_time, name' }, async () => {})).toEqual([
      'c',
      'b',
      'a',
      'B',
      'A',
    ])
  })

  it('accepts a token only for the list that it belongs to', async () => {
    for (let i = 1; i <= 3; i++) await publicMemo(`m${i}`, i)
    const { nextPageToken: pageToken } = await memos().listMemos({ pageSize: 1 })
    const others = [{ orderBy: 'create_time asc' }, { filter: 'pinned' }, { state: State.ARCHIVED }]
    for (const other of others) {
      await expect(memos().listMemos({ ...other, pageToken })).rejects.toThrow('page token')
    }
    await expect(memos().listMemoComments({ name: 'memos/m1', pageToken })).rejects.toThrow(
      'page token',
    )
    // The same list with equivalent parameters and another page size.
    const rest = await memos().listMemos({
      orderBy: ' create_time  desc',
      state: State.NORMAL,
      pageToken,
      pageSize: 9,
    })
    expect(rest.memos.map(({ name }) => name)).toEqual(['memos/m2', 'memos/m1'])
  })

  it('has no token on the last page, even when that is full', async () => {
    for (let i = 1; i <= 2; i++) await publicMemo(`m${i}`, i)
    const response = await fetch(`${server.url}/api/v1/memos?pageSize=2`)
    expect(Object.keys((await response.json()) as object)).toEqual(['memos'])
  })
})

describe('an archived account', () => {
  it('leaves its memos and its statistics to others', async () => {
    await publicMemo('one')
    const users = createClient(
      UserService,
      transportTo(server.url, 'gRPC', testUsers.ada.authorization),
    )
    await users.updateUser({
      user: { name: 'users/bob', state: State.ARCHIVED },
      updateMask: { paths: ['state'] },
    })
    expect(await memos().getMemo({ name: 'memos/one' })).toMatchObject({ creator: 'users/bob' })
    expect(await users.getUserStats({ name: 'users/bob' })).toMatchObject({ totalMemoCount: 1 })
  })
})
