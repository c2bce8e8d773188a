import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { tokenOf } from '../../support/callers.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer, transportTo } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

type Who = Pick<Actor, 'authorization'> | undefined

const say = (who: Actor, { path }: ReviewedPull, index: number, body: string) =>
  forge.ask(who, 'POST', `${path}/issues/${index}/comments`, { body })
const list = async (who: Who, { path }: ReviewedPull, query = '') => {
  const { status, body, headers } = await forge.rest(who, 'GET', `${path}/issues/comments${query}`)
  return { status, body, total: headers.get('x-total-count'), link: headers.get('link') }
}
const textsOf = (comments: { body: string }[]) => comments.map(({ body }) => body)

/** A pull request of carol's and one of bob's in the same repository. */
async function twoPulls(name: string, fields: object = {}): Promise<ReviewedPull> {
  const made = await forge.pull(name, fields)
  await forge.change(users.bob, made.path, 'second')
  const request = { head: 'second', base: 'main', title: 'Another change' }
  await forge.ask(users.bob, 'POST', `${made.path}/pulls`, request)
  return made
}

describe('the comments of a repository', () => {
  it('are those of all its pull requests, oldest first, as they are alone', async () => {
    const own = await twoPulls('whole')
    const elsewhere = await forge.pull('elsewhere')
    await say(users.eve, elsewhere, 1, 'Elsewhere.')
    const said = [
      await say(users.eve, own, 2, 'One.'),
      await say(users.bob, own, 1, 'Two.'),
      await say(users.carol, own, 2, 'Three.'),
    ]
    const { status, body, total } = await list(undefined, own)
    expect([status, total]).toEqual([200, '3'])
    const alone = said.map(({ id }) =>
      forge.rest(undefined, 'GET', `${own.path}/issues/comments/${id}`),
    )
    expect(body).toEqual((await Promise.all(alone)).map((one) => one.body))
    expect(body.map((one: { pull_request_url: string }) => one.pull_request_url)).toEqual([
      `${server.url}/bob/whole/pulls/2`,
      `${server.url}/bob/whole/pulls/1`,
      `${server.url}/bob/whole/pulls/2`,
    ])
    await forge.ask(users.bob, 'DELETE', `${own.path}/issues/comments/${said[1].id}`)
    const after = await list(undefined, own)
    expect([textsOf(after.body), after.total]).toEqual([['One.', 'Three.'], '2'])
  })

  it('come in pages', async () => {
    const own = await twoPulls('paged')
    const all = Array.from({ length: 33 }, (_, i) => `Comment ${i}.`)
    for (const [i, body] of all.entries()) await say(users.eve, own, 1 + (i % 2), body)
    const first = await list(undefined, own)
    expect([textsOf(first.body), first.total]).toEqual([all.slice(0, 30), '33'])
    const second = await list(undefined, own, '?page=2&limit=10')
    expect(textsOf(second.body)).toEqual(all.slice(10, 20))
    expect(second.link).toContain('page=3')
    expect(textsOf((await list(undefined, own, '?page=4&limit=10')).body)).toEqual(all.slice(30))
    expect((await list(undefined, own, '?page=99')).body).toEqual([])
  })

  it('can be limited to a period of the last change', async () => {
    const own = await twoPulls('times')
    for (const [i, body] of ['One.', 'Two.', 'Three.'].entries()) {
      const { id } = await say(users.eve, own, 1 + (i % 2), body)
      const at = Date.parse(`2025-01-0${i + 1}T00:00:00Z`) / 1000
      await server.app.db
        .updateTable('issue_comments')
        .set({ create_time: at, update_time: at })
        .where('id', '=', id)
        .execute()
    }
    const listed = async (query: string) => {
      const { body, total } = await list(users.eve, own, `?${query}`)
      expect(total).toBe(String(body.length))
      return textsOf(body)
    }
    expect(await listed('since=2025-01-02T00:00:00Z')).toEqual(['Two.', 'Three.'])
    expect(await listed('before=2025-01-02T01:00:00%2B01:00')).toEqual(['One.', 'Two.'])
    expect(await listed('since=2030-01-01T00:00:00Z')).toEqual([])
    expect((await list(users.eve, own, '?since=yesterday')).status).toBe(422)
  })

  it('do not exist for those who may not read its pull requests', async () => {
    const own = await twoPulls('hidden', { private: true })
    await say(users.carol, own, 1, 'Between us.')
    for (const who of [undefined, users.eve]) expect((await list(who, own)).status).toBe(404)
    expect(textsOf((await list(users.carol, own)).body)).toEqual(['Between us.'])
    const stranger = await tokenOf(server.url, users.bob, ['read:user'])
    expect((await list(stranger, own)).status).toBe(403)
    const grpc = createClient(
      IssueCommentService,
      transportTo(server.url, 'gRPC', users.eve.authorization),
    )
    const refused = grpc.listRepositoryComments({ owner: 'bob', repo: 'hidden' })
    expect((await refusalOf(refused)).reason).toBe('REPOSITORY_NOT_FOUND')
  })

  it('go with their repository', async () => {
    const own = await twoPulls('gone')
    const { id } = await say(users.eve, own, 1, 'Once.')
    await forge.ask(users.bob, 'DELETE', own.path)
    const left = await server.app.db
      .selectFrom('issue_comments')
      .select('id')
      .where('id', '=', id)
      .execute()
    expect(left).toEqual([])
  })
})
