import { describe, expect, it } from 'vitest'
import { openForge } from '../support/forge.ts'
import { QUERY_JSON_FORMS, STREAM_JSON_FORMS, UNARY_JSON_FORMS } from '../support/json-forms.ts'
import type { TestUsers } from '../support/server.ts'

const { server, users } = await openForge({ maxMessageBytes: 64 * 1024 })

const MEMOS = '/branchline.v1.MemoService'
const GET_USER = '/branchline.v1.UserService/GetUser'
const MALFORMED = { code: 3, reason: 'MALFORMED_REQUEST' }

const headersOf = (users: TestUsers) => ({ authorization: users.bob.authorization })

describe.each([...UNARY_JSON_FORMS])('a unary call in JSON over %s', (_, call) => {
  it('is rejected for an unknown enum name', async () => {
    const uid = crypto.randomUUID()
    const create = JSON.stringify({
      memo: { content: 'secret', visibility: 'PRIVAT' },
      memoId: uid,
    })
    expect(await call(server.url, `${MEMOS}/CreateMemo`, create, headersOf(users))).toMatchObject(
      MALFORMED,
    )
    const answer = await fetch(`${server.url}/api/v1/memos/${uid}`, { headers: headersOf(users) })
    expect(answer.status).toBe(404)

    const kept = JSON.stringify({ memo: { content: 'secret', visibility: 'PRIVATE' }, memoId: uid })
    expect(await call(server.url, `${MEMOS}/CreateMemo`, kept, headersOf(users))).toMatchObject({
      code: 0,
      message: { name: `memos/${uid}`, visibility: 'PRIVATE' },
    })
    const update = (value: string) =>
      JSON.stringify({
        memo: { name: `memos/${uid}`, visibility: value },
        updateMask: 'visibility',
      })
    expect(
      await call(server.url, `${MEMOS}/UpdateMemo`, update('PUBLIK'), headersOf(users)),
    ).toMatchObject(MALFORMED)
    expect(
      await call(server.url, `${MEMOS}/UpdateMemo`, update('PROTECTED'), headersOf(users)),
    ).toMatchObject({
      message: { visibility: 'PROTECTED' },
    })
  })

  it.each(['createTime,content', 'create_time,content'])(
    'takes the mask %s',
    async (updateMask) => {
      const uid = crypto.randomUUID()
      const create = JSON.stringify({ memo: { content: 'then' }, memoId: uid })
      await call(server.url, `${MEMOS}/CreateMemo`, create, headersOf(users))
      const memo = { name: `memos/${uid}`, content: 'now', createTime: '2026-05-01T00:00:00Z' }
      const outcome = await call(
        server.url,
        `${MEMOS}/UpdateMemo`,
        JSON.stringify({ memo, updateMask }),
        headersOf(users),
      )
      expect(outcome).toMatchObject({ code: 0, message: memo })
    },
  )
})

describe.each([...UNARY_JSON_FORMS, ...QUERY_JSON_FORMS])('a read in JSON over %s', (_, call) => {
  it('accepts any spelling of a mask', async () => {
    for (const readMask of ['displayName,name', 'display_name,name']) {
      const outcome = await call(
        server.url,
        GET_USER,
        JSON.stringify({ name: 'users/bob', readMask }),
        headersOf(users),
      )
      expect(outcome).toMatchObject({ code: 0, message: { name: 'users/bob' } })
      expect(outcome.message).not.toHaveProperty('username')
    }
  })

  it.each([
    ['an enum name that there is not', '{"state":"ARCHIVE"}'],
    ['a wrong type', '{"pageSize":"many"}'],
    ['a field twice', '{"pageSize":1,"pageSize":2}'],
    ['what is no JSON', '{"pageSize":'],
  ])('is refused for %s', async (_, json) => {
    expect(await call(server.url, `${MEMOS}/ListMemos`, json)).toMatchObject(MALFORMED)
  })

  it('is rejected when it is too large', async () => {
    // As a URL would be for HTTP itself, unless it is compressed.
    const blanks = ' '.repeat(_.startsWith('Connect GET') && !_.endsWith('compressed') ? 0 : 70_000)
    const outcome = await call(server.url, `${MEMOS}/ListMemos`, `{${blanks}}`)
    expect(outcome).toMatchObject(
      blanks === '' ? { code: 0 } : { code: 8, reason: 'REQUEST_TOO_LARGE' },
    )
  })
})

describe.each([...STREAM_JSON_FORMS])('a stream in JSON over %s', (_, call) => {
  it('is rejected for an unknown enum name', async () => {
    const json = JSON.stringify({ owner: 'bob', repo: 'site', types: ['PUSH', 'NO_SUCH_TYPE'] })
    const outcome = await call(
      server.url,
      '/branchline.v1.RepositoryEventService/WatchRepository',
      json,
    )
    expect(outcome).toMatchObject(MALFORMED)
  })

  it('accepts valid JSON', async () => {
    const json = JSON.stringify({ owner: 'bob', repo: 'site', ref: 'main', path: 'a' })
    const outcome = await call(server.url, '/branchline.v1.ContentService/GetRawFile', json)
    expect(outcome).toMatchObject({ code: 5, reason: 'REPOSITORY_NOT_FOUND' })
  })
})
