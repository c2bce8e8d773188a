import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MemoSchema, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  transportTo,
} from '../support/server.ts'
import { type Call, call, invoke, PROTOCOLS } from './invoke.ts'

const { method } = MemoService
const users = UserService.method

/** Who calls: somebody of the users by session, by token, or nobody. */
type As =
  | 'nobody'
  | 'ada'
  | 'bob'
  | 'carol'
  | 'bob: read:memo'
  | 'bob: public-only'
  | 'ada: write:memo'

interface Case {
  readonly name: string
  readonly as: As
  readonly call: Call
  /** What the answer holds, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

type MemoInit = MessageInitShape<typeof MemoSchema>

const query = (parameters: Record<string, string | number>) =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  )
const create = (memoId: string, memo: MemoInit, body: JsonObject) =>
  call(method.createMemo, { memo, memoId }, `POST /api/v1/memos?${query({ memoId })}`, body)
const get = (uid: string) =>
  call(method.getMemo, { name: `memos/${uid}` }, `GET /api/v1/memos/${uid}`)
const list = (
  request: { pageSize?: number; pageToken?: string; orderBy?: string; filter?: string } = {},
) => call(method.listMemos, request, `GET /api/v1/memos?${query(request)}`)
const archived = call(
  method.listMemos,
  { state: State.ARCHIVED },
  'GET /api/v1/memos?state=ARCHIVED',
)
const patch = (uid: string, memo: MemoInit, body: JsonObject, paths: string[]) =>
  call(
    method.updateMemo,
    { memo: { ...memo, name: `memos/${uid}` }, updateMask: { paths } },
    `PATCH /api/v1/memos/${uid}?updateMask=${paths.join(',')}`,
    body,
  )
const remove = (uid: string) =>
  call(method.deleteMemo, { name: `memos/${uid}` }, `DELETE /api/v1/memos/${uid}`)
const comment = (uid: string, commentId: string, content = '') =>
  call(
    method.createMemoComment,
    { name: `memos/${uid}`, comment: { content }, commentId },
    `POST /api/v1/memos/${uid}/comments?${query({ commentId })}`,
    { content },
  )
const comments = (uid: string, request: { pageSize?: number; orderBy?: string } = {}) =>
  call(
    method.listMemoComments,
    { ...request, name: `memos/${uid}` },
    `GET /api/v1/memos/${uid}/comments?${query(request)}`,
  )
const stats = (user: string) =>
  call(users.getUserStats, { name: `users/${user}` }, `GET /api/v1/users/${user}:getStats`)
const allStats = call(users.listAllUserStats, {}, 'GET /api/v1/users:stats')

const refused = (code: string, reason: string) => ({ code, reason })
const holding = (...uids: string[]) =>
  uids.map((uid) => expect.objectContaining({ name: `memos/${uid}` }))

const NOT_FOUND = refused('NotFound', 'MEMO_NOT_FOUND')
const FORBIDDEN = refused('PermissionDenied', 'PERMISSION_DENIED')
const RESTRICTED = refused('PermissionDenied', 'PUBLIC_ONLY_TOKEN')
const ANONYMOUS = refused('Unauthenticated', 'UNAUTHENTICATED')

/** In order: some build on what others made. */
const CASES: readonly Case[] = [
  // Reading
  {
    name: 'a public memo, with all that is said about it',
    as: 'nobody',
    call: get('open'),
    want: {
      message: {
        name: 'memos/open',
        state: 'NORMAL',
        creator: 'users/bob',
        createTime: '2020-01-01T00:00:00Z',
        updateTime: '2020-01-02T00:00:00Z',
        content: '# Plan\n\n- [ ] water #home/plants, `now`',
        visibility: 'PUBLIC',
        tags: ['home', 'home/plants'],
        property: { hasTaskList: true, hasCode: true, hasIncompleteTasks: true, title: 'Plan' },
        snippet: 'Plan water #home/plants, now',
      },
    },
  },
  {
    name: 'a protected memo',
    as: 'carol',
    call: get('inside'),
    want: { message: { visibility: 'PROTECTED' } },
  },
  { name: 'a protected memo, by nobody', as: 'nobody', call: get('inside'), want: ANONYMOUS },
  { name: 'a protected memo', as: 'bob: public-only', call: get('inside'), want: RESTRICTED },
  {
    name: 'a private memo of their own',
    as: 'bob: read:memo',
    call: get('secret'),
    want: { message: {} },
  },
  { name: 'a private memo of another', as: 'carol', call: get('secret'), want: FORBIDDEN },
  {
    name: 'a private memo of another, for administrators too',
    as: 'ada',
    call: get('secret'),
    want: FORBIDDEN,
  },
  { name: 'a private memo', as: 'nobody', call: get('secret'), want: ANONYMOUS },
  {
    name: 'an archived memo of their own',
    as: 'bob',
    call: get('old'),
    want: { message: { state: 'ARCHIVED' } },
  },
  { name: 'an archived memo of another', as: 'ada', call: get('old'), want: NOT_FOUND },
  { name: 'an archived memo', as: 'nobody', call: get('old'), want: NOT_FOUND },
  { name: 'no memo', as: 'nobody', call: get('none'), want: NOT_FOUND },
  { name: 'a name in another case', as: 'nobody', call: get('OPEN'), want: NOT_FOUND },
  {
    name: 'a bad name',
    as: 'nobody',
    call: get('a_b'),
    want: refused('InvalidArgument', 'INVALID_NAME'),
  },
  {
    name: 'a comment, with what it comments on',
    as: 'nobody',
    call: get('reply'),
    want: {
      message: {
        creator: 'users/carol',
        visibility: 'PUBLIC',
        parent: 'memos/open',
        relations: [
          {
            type: 'COMMENT',
            memo: { name: 'memos/reply', snippet: 'Done' },
            relatedMemo: { name: 'memos/open', snippet: 'Plan water #home/plants, now' },
          },
        ],
      },
    },
  },
  // Lists
  {
    name: 'what is public',
    as: 'nobody',
    call: list(),
    want: { message: { memos: holding('open') } },
  },
  {
    name: 'what is public',
    as: 'bob: public-only',
    call: list(),
    want: { message: { memos: holding('open') } },
  },
  {
    name: 'what is public or protected',
    as: 'ada',
    call: list(),
    want: { message: { memos: holding('inside', 'open') } },
  },
  {
    name: 'their own, whatever it is',
    as: 'bob',
    call: list({ orderBy: 'pinned, name asc' }),
    want: { message: { memos: holding('secret', 'inside', 'open') } },
  },
  {
    name: 'a filter',
    as: 'bob',
    call: list({ filter: '"home" in tags && creator == "users/bob"' }),
    want: { message: { memos: holding('open') } },
  },
  {
    name: 'what they archived',
    as: 'bob',
    call: archived,
    want: { message: { memos: holding('old') } },
  },
  { name: 'what others archived', as: 'ada', call: archived, want: { message: {} } },
  { name: 'what somebody archived', as: 'nobody', call: archived, want: { message: {} } },
  {
    name: 'a bad filter',
    as: 'nobody',
    call: list({ filter: 'content' }),
    want: refused('InvalidArgument', 'INVALID_FILTER'),
  },
  {
    name: 'a bad order',
    as: 'nobody',
    call: list({ orderBy: 'content' }),
    want: refused('InvalidArgument', 'INVALID_ORDER'),
  },
  {
    name: 'a negative page size',
    as: 'nobody',
    call: list({ pageSize: -1 }),
    want: refused('InvalidArgument', 'INVALID_PAGE_SIZE'),
  },
  {
    name: 'a page token out of thin air',
    as: 'nobody',
    call: list({ pageToken: 'CDIQMg==' }),
    want: refused('InvalidArgument', 'INVALID_PAGE_TOKEN'),
  },
  {
    name: 'comments',
    as: 'nobody',
    call: comments('open'),
    want: { message: { memos: holding('reply') } },
  },
  { name: 'comments on nothing', as: 'nobody', call: comments('none'), want: NOT_FOUND },
  { name: 'comments on a private memo', as: 'carol', call: comments('secret'), want: FORBIDDEN },
  { name: 'comments on a private memo', as: 'nobody', call: comments('secret'), want: ANONYMOUS },
  {
    name: 'comments in a bad order',
    as: 'nobody',
    call: comments('open', { orderBy: 'state' }),
    want: refused('InvalidArgument', 'INVALID_ORDER'),
  },
  // Statistics
  {
    name: 'their own statistics',
    as: 'bob',
    call: stats('bob'),
    want: {
      message: {
        totalMemoCount: 3,
        memoTypeStats: { codeCount: 1, todoCount: 1, undoCount: 1 },
        pinnedMemos: ['memos/secret'],
      },
    },
  },
  {
    name: 'the statistics of another',
    as: 'nobody',
    call: stats('bob'),
    want: {
      message: {
        name: 'users/bob',
        totalMemoCount: 1,
        memoDisplayTimestamps: ['2020-01-01T00:00:00Z'],
        tagCount: { home: 1, 'home/plants': 1 },
      },
    },
  },
  {
    name: 'statistics of nothing',
    as: 'nobody',
    call: stats('carol'),
    want: { message: { name: 'users/carol' } },
  },
  {
    name: 'statistics of nobody',
    as: 'nobody',
    call: stats('nobody'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'the statistics of all',
    as: 'ada',
    call: allStats,
    want: {
      message: { stats: [expect.objectContaining({ name: 'users/bob', totalMemoCount: 2 })] },
    },
  },
  // Writing
  { name: 'a memo of nobody', as: 'nobody', call: create('new', {}, {}), want: ANONYMOUS },
  {
    name: 'a memo by a token to read',
    as: 'bob: read:memo',
    call: create('new', {}, {}),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a memo that would be private',
    as: 'bob: public-only',
    call: create('new', {}, {}),
    want: RESTRICTED,
  },
  {
    name: 'no memo at all',
    as: 'bob',
    call: call(method.createMemo, { memoId: 'new' }, 'POST /api/v1/memos?memoId=new'),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'a bad id',
    as: 'bob',
    call: create('a_b', {}, {}),
    want: refused('InvalidArgument', 'INVALID_MEMO_ID'),
  },
  {
    name: 'a taken id',
    as: 'carol',
    call: create('secret', {}, {}),
    want: refused('AlreadyExists', 'MEMO_ID_TAKEN'),
  },
  {
    name: 'a long content',
    as: 'bob',
    call: create('new', { content: 'é'.repeat(5000) }, { content: 'é'.repeat(5000) }),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'an empty memo',
    as: 'carol',
    call: create('hers', {}, {}),
    want: {
      message: {
        name: 'memos/hers',
        creator: 'users/carol',
        visibility: 'PRIVATE',
        state: 'NORMAL',
      },
    },
  },
  {
    name: 'some fields',
    as: 'carol',
    call: patch(
      'hers',
      { pinned: true, updateTime: { seconds: 1n } },
      { pinned: true, updateTime: '1970-01-01T00:00:01Z' },
      ['pinned', 'update_time'],
    ),
    want: { message: { pinned: true, updateTime: '1970-01-01T00:00:01Z' } },
  },
  {
    name: 'a memo of another',
    as: 'carol',
    call: patch('open', {}, {}, ['pinned']),
    want: FORBIDDEN,
  },
  {
    name: 'a memo of another, by an administrator without the scope',
    as: 'ada: write:memo',
    call: patch('open', {}, {}, ['pinned']),
    want: FORBIDDEN,
  },
  {
    name: 'a memo of another',
    as: 'ada',
    call: patch('old', {}, {}, ['pinned']),
    want: { message: {} },
  },
  {
    name: 'an archived memo of another',
    as: 'carol',
    call: patch('old', {}, {}, ['nonsense']),
    want: NOT_FOUND,
  },
  {
    name: 'a private memo',
    as: 'bob: public-only',
    call: patch('secret', {}, {}, ['pinned']),
    want: RESTRICTED,
  },
  {
    name: 'an unknown field',
    as: 'bob',
    call: patch('open', {}, {}, ['display_time']),
    want: refused('InvalidArgument', 'UNKNOWN_MASK_PATH'),
  },
  {
    name: 'no field',
    as: 'bob',
    call: patch('open', {}, {}, []),
    want: refused('InvalidArgument', 'EMPTY_MASK'),
  },
  {
    name: 'a field without a value',
    as: 'bob',
    call: patch('open', {}, {}, ['visibility']),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'output-only fields, without effect',
    as: 'bob',
    call: patch('open', {}, {}, ['tags']),
    want: { message: {} },
  },
  { name: 'a comment by nobody', as: 'nobody', call: comment('open', 'c'), want: ANONYMOUS },
  {
    name: 'a comment on a private memo',
    as: 'carol',
    call: comment('secret', 'c'),
    want: FORBIDDEN,
  },
  {
    name: 'a comment on an archived memo',
    as: 'carol',
    call: comment('old', 'c'),
    want: NOT_FOUND,
  },
  {
    name: 'a comment on an archived memo of their own',
    as: 'bob',
    call: comment('old', 'c'),
    want: refused('FailedPrecondition', 'MEMO_ARCHIVED'),
  },
  {
    name: 'a comment by a token for public data',
    as: 'bob: public-only',
    call: comment('reply', 'c', 'Thanks'),
    want: { message: { parent: 'memos/reply', visibility: 'PUBLIC' } },
  },
  {
    name: 'an account with memos',
    as: 'carol',
    call: call(users.deleteUser, { name: 'users/carol' }, 'DELETE /api/v1/users/carol'),
    want: refused('FailedPrecondition', 'HAS_ASSOCIATED_DATA'),
  },
  { name: 'deleting a memo of another', as: 'carol', call: remove('open'), want: FORBIDDEN },
  { name: 'deleting, by nobody', as: 'nobody', call: remove('open'), want: ANONYMOUS },
  { name: 'deleting', as: 'bob', call: remove('open'), want: { message: {} } },
  { name: 'a deleted memo', as: 'bob', call: remove('open'), want: NOT_FOUND },
  { name: 'a comment below it', as: 'bob', call: get('c'), want: NOT_FOUND },
  {
    name: 'an account with memos, by force',
    as: 'carol',
    call: call(
      users.deleteUser,
      { name: 'users/carol', force: true },
      'DELETE /api/v1/users/carol?force=true',
    ),
    want: { message: {} },
  },
]

describe.each(PROTOCOLS)('memos by %s', (protocol) => {
  let server: TestServer
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    server = await startTestServer()
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
    await stage(server.url, users.bob.authorization, users.carol.authorization)
  })
  afterAll(() => server.stop())

  it.each(CASES)('$name ($as)', async ({ as, call: made, want }) => {
    const outcome = await invoke(server.url, protocol, made, authorization.get(as))
    expect(outcome).toEqual(
      'message' in want
        ? { message: expect.objectContaining(want.message) }
        : expect.objectContaining(want),
    )
  })

  it('keep a tag with the name of an object property', async () => {
    // With a space of no width, so that it is no emphasis.
    const content = '#__proto__\u200b #constructor'
    const made = create(
      'odd',
      { content, visibility: Visibility.PUBLIC },
      { content, visibility: 'PUBLIC' },
    )
    await invoke(server.url, protocol, made, authorization.get('ada'))
    const outcome = await invoke(server.url, protocol, stats('ada'))
    expect(JSON.stringify(outcome)).toContain('"tagCount":{"__proto__":1,"constructor":1}')
  })
})

/** What bob and carol wrote before. */
async function stage(url: string, bob: string, carol: string): Promise<void> {
  const asBob = createClient(MemoService, transportTo(url, 'Connect JSON', bob))
  const open = {
    content: '# Plan\n\n- [ ] water #home/plants, `now`',
    visibility: Visibility.PUBLIC,
    createTime: { seconds: 1_577_836_800n },
    updateTime: { seconds: 1_577_923_200n },
  }
  await asBob.createMemo({ memo: open, memoId: 'open' })
  await asBob.createMemo({ memo: { visibility: Visibility.PROTECTED }, memoId: 'inside' })
  await asBob.createMemo({
    memo: { visibility: Visibility.PRIVATE, pinned: true },
    memoId: 'secret',
  })
  await asBob.createMemo({
    memo: { visibility: Visibility.PUBLIC, state: State.ARCHIVED },
    memoId: 'old',
  })
  const asCarol = createClient(MemoService, transportTo(url, 'Connect JSON', carol))
  await asCarol.createMemoComment({
    name: 'memos/open',
    comment: { content: 'Done' },
    commentId: 'reply',
  })
}

describe('the table of cases', () => {
  it('covers every method', () => {
    const covered = new Set(CASES.map(({ call: made }) => made.method))
    const methods = [...MemoService.methods, users.getUserStats, users.listAllUserStats]
    expect(
      methods.filter((one) => !covered.has(one as Call['method'])).map(({ name }) => name),
    ).toEqual([])
  })
})
