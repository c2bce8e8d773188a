import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { markSeenUpTo } from '../../../src/forge/conversations/participants.rows.ts'
import { findPullRequestById } from '../../../src/forge/pulls/heads/pull-requests.rows.ts'
import { tokenOf } from '../../support/callers.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import {
  type Actor,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>
/**
 * A pull request of carol's in a repository of bob's, for whatever does not change it for others.
 */
let pull: ReviewedPull

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
  pull = await forge.pull('shared')
})
afterAll(() => server.stop())

type Who = Pick<Actor, 'authorization'> | undefined

const commentsOf = ({ path }: ReviewedPull) => `${path}/issues/1/comments`
const say = (who: Who, where: ReviewedPull, body: unknown) =>
  forge.rest(who, 'POST', commentsOf(where), { body })
const grpcAs = (who: Who) =>
  createClient(IssueCommentService, transportTo(server.url, 'gRPC', who?.authorization))
const textsOf = (comments: { body: string }[]) => comments.map(({ body }) => body)

/**
 * A private repository of bob's with a pull request, which carol may write to, and a comment of
 * hers.
 */
async function privatePull(name: string) {
  const made = await forge.pull(name, { private: true })
  const { body } = await say(users.carol, made, 'Between us.')
  return { ...made, comment: `${made.path}/issues/comments/${body.id}`, id: BigInt(body.id) }
}

describe('a comment on a pull request', () => {
  it('has the same content alone and in the list', async () => {
    const own = await forge.pull('said')
    const { status, body } = await say(users.eve, own, 'A *remark*.')
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(Number),
      html_url: `${server.url}/bob/said/pulls/1#issuecomment-${body.id}`,
      pull_request_url: `${server.url}/bob/said/pulls/1`,
      issue_url: '',
      user: expect.objectContaining({ login: 'eve' }),
      original_author: '',
      original_author_id: 0,
      body: 'A *remark*.',
      assets: [],
      created_at: expect.stringMatching(/^20\d\d-/),
      updated_at: body.created_at,
    })
    expect(await forge.ask(users.eve, 'GET', `${own.path}/issues/comments/${body.id}`)).toEqual(
      body,
    )
    expect((await forge.rest(undefined, 'GET', commentsOf(own))).body).toMatchObject([
      { id: body.id },
    ])
    expect((await forge.ask(users.bob, 'GET', own.pull)).comments).toBe(1)
  })

  it('may be created by every reader, on open and closed pull requests', async () => {
    const own = await forge.pull('everybody')
    await forge.ask(users.carol, 'PATCH', own.pull, { state: 'closed' })
    for (const who of [users.carol, users.bob, users.eve, users.ada])
      expect((await say(who, own, 'x')).status).toBe(201)
    expect((await forge.ask(users.bob, 'GET', own.pull)).comments).toBe(4)
  })

  it.each<[title: string, body: unknown, text: string]>([
    ['nothing', '', '[Body]: Required'],
    ['blanks', ' \n\t', '[Body]: Required'],
    ['no text', undefined, '[Body]: Required'],
    ['null', null, '[Body]: Required'],
    ['a number', 5, 'body'],
    ['too much', 'x'.repeat(65_537), 'body is longer than 65536 characters'],
  ])('is refused when it %s', async (_, body, text) => {
    const { status, body: answer } = await say(users.eve, pull, body)
    expect([status, answer.message]).toEqual([422, expect.stringContaining(text)])
  })

  it('can be changed by its author and by users who may write pull requests, and by no one else', async () => {
    const own = await forge.pull('changes')
    const { id, created_at } = (await say(users.eve, own, 'One.')).body
    const comment = `${own.path}/issues/comments/${id}`
    expect(await forge.ask(users.eve, 'PATCH', comment, { body: 'Two.' })).toMatchObject({
      body: 'Two.',
      created_at,
    })
    expect(await forge.ask(users.bob, 'PATCH', comment, { body: 'Three.' })).toMatchObject({
      body: 'Three.',
      user: { login: 'eve' },
    })
    const stranger = await tokenOf(server.url, users.eve, ['read:issue'])
    expect((await forge.rest(stranger, 'PATCH', comment, { body: 'x' })).status).toBe(403)
    await forge.ask(users.bob, 'DELETE', `${own.path}/collaborators/carol`)
    for (const method of ['PATCH', 'DELETE']) {
      const refused = await forge.rest(users.carol, method, comment, { body: 'x' })
      expect([refused.status, refused.headers.get('x-error-reason')]).toEqual([
        403,
        'ISSUE_COMMENT_DENIED',
      ])
      expect((await forge.rest(undefined, method, comment, { body: 'x' })).status).toBe(401)
    }
    expect((await forge.rest(users.eve, 'PATCH', comment, { body: '' })).status).toBe(422)
    expect((await forge.rest(users.eve, 'DELETE', comment)).status).toBe(204)
    expect((await forge.rest(users.eve, 'DELETE', comment)).status).toBe(404)
    expect((await forge.ask(users.bob, 'GET', own.pull)).comments).toBe(0)
  })

  it('can be changed at the address that older clients know, whatever number of a pull request it has', async () => {
    const { id } = (await say(users.eve, pull, 'One.')).body
    for (const number of [1, 999]) {
      const comment = `${pull.path}/issues/${number}/comments/${id}`
      expect(await forge.ask(users.eve, 'PATCH', comment, { body: 'Two.' })).toMatchObject({
        id,
        body: 'Two.',
      })
      expect((await forge.rest(undefined, 'DELETE', comment)).status).toBe(401)
    }
    const comment = `${pull.path}/issues/1/comments/${id}`
    expect((await forge.rest(users.eve, 'DELETE', comment)).status).toBe(204)
    expect((await forge.rest(users.eve, 'DELETE', comment)).status).toBe(404)
  })

  it('is not found by another number or in another repository', async () => {
    const { id } = (await say(users.eve, pull, 'Here.')).body
    const { path } = await forge.repository(users.bob, 'elsewhere')
    for (const place of [
      `${path}/issues/comments/${id}`,
      `${pull.path}/issues/comments/${id + 1000}`,
    ])
      for (const [method, fields] of [['GET'], ['PATCH', { body: 'x' }], ['DELETE']] as const)
        expect((await forge.rest(users.bob, method, place, fields)).status).toBe(404)
    for (const word of ['x', '0', '-1', '9'.repeat(30)])
      expect(
        (await forge.rest(users.bob, 'GET', `${pull.path}/issues/comments/${word}`)).status,
      ).toBe(404)
    for (const number of ['2', '0', 'x'])
      for (const [method, fields] of [['GET'], ['POST', { body: 'x' }]] as const)
        expect(
          (await forge.rest(users.bob, method, `${pull.path}/issues/${number}/comments`, fields))
            .status,
        ).toBe(404)
  })

  it('is refused from users whom the owner or the poster has blocked', async () => {
    const own = await forge.pull('blocked')
    const { id } = (await say(users.eve, own, 'Before.')).body
    for (const blocker of [users.bob, users.carol]) {
      await forge.ask(blocker, 'PUT', '/user/blocks/eve')
      try {
        const refused = await say(users.eve, own, 'After.')
        expect([refused.status, refused.body.message]).toEqual([403, 'user is blocked'])
        const edit = await forge.rest(users.eve, 'PATCH', `${own.path}/issues/comments/${id}`, {
          body: 'x',
        })
        expect(edit.status).toBe(403)
      } finally {
        await forge.ask(blocker, 'DELETE', '/user/blocks/eve')
      }
    }
    // What they said before is theirs to take back.
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve')
    expect(
      (await forge.rest(users.eve, 'DELETE', `${own.path}/issues/comments/${id}`)).status,
    ).toBe(204)
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
  })

  it('cannot be changed in an archived repository', async () => {
    const own = await forge.pull('archived')
    const { id } = (await say(users.eve, own, 'Before.')).body
    await forge.ask(users.bob, 'PATCH', own.path, { archived: true })
    const comment = `${own.path}/issues/comments/${id}`
    expect((await say(users.eve, own, 'After.')).status).toBe(423)
    expect((await forge.rest(users.eve, 'PATCH', comment, { body: 'x' })).status).toBe(423)
    expect((await forge.rest(users.eve, 'DELETE', comment)).status).toBe(423)
    expect((await forge.ask(users.eve, 'GET', comment)).body).toBe('Before.')
  })

  it('is not found by callers who may not read the pull request', async () => {
    const hidden = await privatePull('hidden')
    for (const who of [
      users.eve,
      undefined,
      await tokenOf(server.url, users.bob, ['all', 'public-only']),
    ]) {
      expect((await forge.rest(who, 'GET', commentsOf(hidden))).status).toBe(404)
      expect((await forge.rest(who, 'GET', hidden.comment)).status).toBe(404)
      const status = who === undefined ? 401 : 404
      expect((await say(who, hidden, 'x')).status).toBe(status)
      expect((await forge.rest(who, 'PATCH', hidden.comment, { body: 'x' })).status).toBe(status)
      expect((await forge.rest(who, 'DELETE', hidden.comment)).status).toBe(status)
    }
    await forge.ask(users.bob, 'PATCH', hidden.path, { private: false, has_pull_requests: false })
    expect((await forge.rest(users.bob, 'GET', hidden.comment)).status).toBe(404)
    expect((await forge.rest(users.bob, 'GET', commentsOf(hidden))).status).toBe(404)
  })

  it('can be written with a token for issues', async () => {
    const [reads, writes] = [
      await tokenOf(server.url, users.eve, ['read:issue']),
      await tokenOf(server.url, users.eve, ['write:issue']),
    ]
    const other = await tokenOf(server.url, users.eve, ['write:repository'])
    expect((await forge.rest(reads, 'GET', commentsOf(pull))).status).toBe(200)
    expect((await say(reads, pull, 'x')).status).toBe(403)
    expect((await say(writes, pull, 'x')).status).toBe(201)
    expect((await forge.rest(other, 'GET', commentsOf(pull))).status).toBe(403)
  })

  it('outlives the account of its author', async () => {
    const own = await forge.pull('survives')
    const mallory = {
      username: 'mallory',
      email: 'm@example.org',
      password: PASSWORD,
      must_change_password: false,
    }
    await forge.ask(users.ada, 'POST', '/admin/users', mallory)
    const { id } = (await say(await signIn(server.url, 'mallory'), own, 'Goodbye.')).body
    await forge.ask(users.ada, 'DELETE', '/admin/users/mallory')
    expect(await forge.ask(users.eve, 'GET', `${own.path}/issues/comments/${id}`)).toMatchObject({
      body: 'Goodbye.',
      user: { id: -1, login: 'Ghost' },
    })
    expect(
      (await forge.rest(users.eve, 'PATCH', `${own.path}/issues/comments/${id}`, { body: 'x' }))
        .status,
    ).toBe(403)
  })

  it('behaves the same over gRPC, with reasons', async () => {
    await forge.pull('grpc')
    const [eve, nobody] = [grpcAs(users.eve), grpcAs(undefined)]
    const place = { owner: 'bob', repo: 'grpc' }
    const { id, user } = await eve.createIssueComment({ ...place, index: 1n, body: 'One.' })
    expect(user?.login).toBe('eve')
    expect((await eve.editIssueComment({ ...place, id, body: 'Two.' })).body).toBe('Two.')
    expect(await nobody.listIssueComments({ ...place, index: 1n })).toMatchObject({
      comments: [{ id, body: 'Two.' }],
      total: 1n,
    })
    expect((await nobody.getIssueComment({ ...place, id })).body).toBe('Two.')
    const reasonOf = async (made: Promise<unknown>) => (await refusalOf(made)).reason
    expect(await reasonOf(nobody.createIssueComment({ ...place, index: 1n, body: 'x' }))).toBe(
      'UNAUTHENTICATED',
    )
    expect(await reasonOf(eve.createIssueComment({ ...place, index: 9n, body: 'x' }))).toBe(
      'ISSUE_NOT_FOUND',
    )
    expect(await reasonOf(eve.createIssueComment({ ...place, index: 1n }))).toBe('INVALID_FIELD')
    await eve.deleteIssueComment({ ...place, id })
    expect(await reasonOf(nobody.getIssueComment({ ...place, id }))).toBe('ISSUE_COMMENT_NOT_FOUND')
    const hidden = await privatePull('hidden-too')
    const other = { owner: 'bob', repo: 'hidden-too', id: hidden.id, body: 'x' }
    expect(await reasonOf(eve.getIssueComment(other))).toBe('REPOSITORY_NOT_FOUND')
    expect(await reasonOf(eve.editIssueComment(other))).toBe('REPOSITORY_NOT_FOUND')
    expect(await reasonOf(eve.deleteIssueComment(other))).toBe('REPOSITORY_NOT_FOUND')
  })
})

describe('a user who comments', () => {
  const unreadFor = async (who: Actor, { path }: ReviewedPull) =>
    (await forge.ask(who, 'GET', `${path}/pulls`))[0].unread as boolean
  /** Looks at it, until that is noted. @returns whether there was something new. */
  const look = async (who: Actor, { pull: path }: ReviewedPull, method = 'GET') => {
    const { body } = await forge.rest(who, method, path)
    await server.app.background.settled()
    return body.unread as boolean
  }

  it('becomes a participant, for whom later changes are unread until they look', async () => {
    const own = await forge.pull('participants')
    await say(users.bob, own, 'Before.')
    expect(await unreadFor(users.eve, own)).toBe(false)
    await say(users.eve, own, 'Mine.')
    expect(await unreadFor(users.eve, own)).toBe(false)
    await say(users.carol, own, 'An answer.')
    expect(await unreadFor(users.eve, own)).toBe(true)
    // To read lists is not to look.
    expect(await unreadFor(users.eve, own)).toBe(true)
    await look(users.eve, own, 'HEAD')
    await look(await tokenOf(server.url, users.eve, ['all', 'public-only']), own)
    expect(await unreadFor(users.eve, own)).toBe(true)
    expect(await look(users.eve, own)).toBe(true)
    expect(await look(users.eve, own)).toBe(false)
    await say(users.carol, own, 'One more.')
    const token = await tokenOf(server.url, users.eve, ['read:repository'])
    expect([await look(token, own), await unreadFor(users.eve, own)]).toEqual([true, false])
    await say(users.carol, own, 'And one.')
    await forge.ask(users.eve, 'GET', `${own.path}/issues/1`)
    await server.app.background.settled()
    expect(await unreadFor(users.eve, own)).toBe(false)
  })

  it('has not seen changes after their look, however late the look is recorded', async () => {
    const own = await forge.pull('late')
    for (const [who, body] of [
      [users.eve, 'One.'],
      [users.carol, 'Two.'],
    ] as const)
      await say(who, own, body)
    const { id } = await forge.ask(users.bob, 'GET', own.pull)
    const last = (await findPullRequestById(server.app.db, id))?.change_count ?? 0
    const eve = await forge.ask(users.eve, 'GET', '/user')
    for (const [changes, unread] of [
      [last - 1, true],
      [last, false],
      [last - 1, false],
    ] as const) {
      await markSeenUpTo(server.app.db, id, eve.id, changes)
      expect(await unreadFor(users.eve, own)).toBe(unread)
    }
  })
})

describe('the list of comments', () => {
  it('is complete unless a page is requested', async () => {
    const own = await forge.pull('many')
    const all = Array.from({ length: 33 }, (_, i) => `Comment ${i}.`)
    for (const body of all) expect((await say(users.eve, own, body)).status).toBe(201)
    const page = async (query: string) => {
      const { body, headers } = await forge.rest(undefined, 'GET', `${commentsOf(own)}${query}`)
      expect(headers.get('x-total-count')).toBe('33')
      return { texts: textsOf(body), link: headers.get('link') }
    }
    expect(await page('')).toEqual({ texts: all, link: null })
    // What the Go client sends for "all".
    expect((await page('?page=0&limit=0')).texts).toEqual(all)
    expect((await page('?page=1')).texts).toEqual(all.slice(0, 30))
    expect(await page('?page=2&limit=10')).toEqual({
      texts: all.slice(10, 20),
      link: expect.stringContaining('page=3'),
    })
    expect((await page('?page=99')).texts).toEqual([])
  })

  it('can be limited to a period of the last change', async () => {
    const own = await forge.pull('times')
    for (const body of ['One.', 'Two.', 'Three.']) await say(users.eve, own, body)
    const { db } = server.app
    const ids = (await forge.ask(users.eve, 'GET', commentsOf(own))).map(
      ({ id }: { id: number }) => id,
    )
    for (const [i, id] of ids.entries()) {
      const at = Date.parse(`2025-01-0${i + 1}T00:00:00Z`) / 1000
      await db
        .updateTable('issue_comments')
        .set({ create_time: at, update_time: at })
        .where('id', '=', id)
        .execute()
    }
    const listed = async (query: string) => {
      const { body, headers } = await forge.rest(users.eve, 'GET', `${commentsOf(own)}?${query}`)
      expect(headers.get('x-total-count')).toBe(String(body.length))
      return textsOf(body)
    }
    expect(await listed('since=2025-01-02T00:00:00Z')).toEqual(['Two.', 'Three.'])
    expect(await listed('before=2025-01-02T01:00:00%2B01:00')).toEqual(['One.', 'Two.'])
    expect(await listed('since=2025-01-02T00:00:00Z&before=2025-01-02T00:00:00Z')).toEqual(['Two.'])
    expect(await listed('since=2030-01-01T00:00:00Z')).toEqual([])
    expect((await forge.rest(users.eve, 'GET', `${commentsOf(own)}?since=yesterday`)).status).toBe(
      422,
    )
  })
})
