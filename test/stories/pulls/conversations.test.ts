import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { ReactionService } from '#gen/branchline/v1/reaction_service_pb.ts'
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

const issueOf = ({ path }: Pick<ReviewedPull, 'path'>) => `${path}/issues/1`
const react = (who: Actor | undefined, path: string, content: string, method = 'POST') =>
  forge.rest(who, method, `${path}/reactions`, { content })
const comment = (who: Actor, pull: ReviewedPull, body: string) =>
  forge.rest(who, 'POST', `${issueOf(pull)}/comments`, { body })

/** Returns who has reacted, and how. */
async function reactions(who: Actor | undefined, path: string) {
  const { status, body, headers } = await forge.rest(who, 'GET', `${path}/reactions`)
  expect(status, body.message).toBe(200)
  expect(headers.get('x-total-count')).toBe(String(body.length))
  return body.map(({ user, content }: { user: { login: string }; content: string }) => [
    user.login,
    content,
  ])
}

describe('reactions', () => {
  it('to a pull request and to a comment are apart, once for each user and kind', async () => {
    const pull = await forge.pull('reacting')
    const { body } = await comment(users.carol, pull, 'Hello')
    const texts = [issueOf(pull), `${pull.path}/issues/comments/${body.id}`]
    for (const text of texts) {
      const first = await react(users.eve, text, '+1')
      expect([first.status, first.body]).toEqual([
        201,
        {
          user: expect.objectContaining({ login: 'eve' }),
          content: '+1',
          created_at: expect.any(String),
        },
      ])
      expect((await react(users.eve, text, '+1')).status).toBe(200)
      expect((await react(users.eve, text, 'heart')).status).toBe(201)
      expect((await react(users.bob, text, '+1')).status).toBe(201)
      expect(await reactions(undefined, text)).toEqual([
        ['eve', '+1'],
        ['eve', 'heart'],
        ['bob', '+1'],
      ])
      for (let i = 0; i < 2; i++)
        expect((await react(users.eve, text, '+1', 'DELETE')).status).toBe(200)
      expect(await reactions(undefined, text)).toEqual([
        ['eve', 'heart'],
        ['bob', '+1'],
      ])
    }
    await forge.ask(users.carol, 'DELETE', `${pull.path}/issues/comments/${body.id}`)
    expect((await forge.rest(undefined, 'GET', `${texts[1]}/reactions`)).status).toBe(404)
    expect(await reactions(undefined, issueOf(pull))).toHaveLength(2)
  })

  it('are counted for all texts of a conversation at once', async () => {
    const pull = await forge.pull('counted')
    const { body } = await comment(users.carol, pull, 'Hello')
    const said = `${pull.path}/issues/comments/${body.id}`
    for (const who of [users.eve, users.bob]) await react(who, issueOf(pull), 'heart')
    await react(users.eve, said, '+1')
    const counts = (who: Actor | undefined) =>
      forge.ask(who, 'GET', `${issueOf(pull)}/reaction_counts`)
    expect(await counts(users.eve)).toEqual([
      { comment: 0, content: 'heart', count: 2, reacted: true },
      { comment: body.id, content: '+1', count: 1, reacted: true },
    ])
    expect(await counts(undefined)).toMatchObject([{ reacted: false }, { reacted: false }])
    await forge.ask(users.carol, 'DELETE', said)
    expect(await counts(users.bob)).toEqual([
      { comment: 0, content: 'heart', count: 2, reacted: true },
    ])
    const secret = await forge.pull('counted-secret', { private: true })
    const refused = await forge.rest(users.eve, 'GET', `${issueOf(secret)}/reaction_counts`)
    expect(refused.status).toBe(404)
  })

  it('are part of the conversation as a whole', async () => {
    const pull = await forge.pull('whole')
    await comment(users.carol, pull, 'Hello')
    await react(users.eve, issueOf(pull), 'heart')
    const line = { path: 'topic.txt', body: 'Why?', new_position: 1 }
    const review = `${pull.path}/pulls/1/reviews`
    await forge.ask(users.bob, 'POST', review, { event: 'COMMENT', comments: [line] })
    const pending = [{ ...line, body: 'Not yet said' }]
    await forge.ask(users.carol, 'POST', review, { body: 'Begun', comments: pending })
    await forge.ask(users.bob, 'PATCH', issueOf(pull), { title: 'Another title' })
    const whole = async (who: Actor | undefined) =>
      forge.ask(who, 'GET', `${issueOf(pull)}/conversation`)
    const seen = await whole(users.eve)
    expect(seen).toMatchObject({
      repository: { full_name: pull.path.slice('/repos/'.length) },
      pull_request: { number: 1, title: 'Another title' },
      comments: [{ body: 'Hello' }],
      comments_total: 1,
      events: [{ type: 'change_title' }],
      reviews: [{ state: 'COMMENT' }],
      reviews_total: 1,
      review_comments: [{ body: 'Why?', pull_request_review_id: seen.reviews[0].id }],
      reactions: [{ comment: 0, content: 'heart', count: 1, reacted: true }],
      statuses: [],
    })
    expect(seen).not.toHaveProperty('issue')
    expect(seen.event_cursor).not.toBe('')
    // Only its author sees a pending review.
    expect((await whole(users.carol)).review_comments).toMatchObject([
      { body: 'Why?' },
      { body: 'Not yet said' },
    ])
  })

  it('are one when many requests add it at the same moment', async () => {
    const pull = await forge.pull('hasty')
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => react(users.eve, issueOf(pull), 'rocket')),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...answers.slice(1).map(() => 200), 201])
    expect(await reactions(undefined, issueOf(pull))).toEqual([['eve', 'rocket']])
  })

  it('are refused for strangers, unknown kinds and blocked users', async () => {
    const pull = await forge.pull('guarded')
    const text = issueOf(pull)
    expect((await react(undefined, text, '+1')).status).toBe(401)
    const wrong = await react(users.eve, text, 'tada')
    expect([wrong.status, wrong.body.message]).toEqual([403, "'tada' is not an allowed reaction"])
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve')
    expect((await react(users.eve, text, '+1')).status).toBe(403)
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
    const secret = await forge.pull('secret', { private: true })
    expect((await react(users.eve, issueOf(secret), '+1')).status).toBe(404)
    const call = createClient(
      ReactionService,
      transportTo(server.url, 'gRPC', users.eve.authorization),
    ).createIssueReaction({ owner: 'bob', repo: 'guarded', index: 1n, content: '' })
    expect(await refusalOf(call)).toMatchObject({ reason: 'INVALID_REACTION' })
    expect(await reactions(undefined, text)).toEqual([])
  })
})

describe('a locked conversation', () => {
  it('is open to those with write access only', async () => {
    const pull = await forge.pull('locked')
    const before = (await comment(users.eve, pull, 'Before')).body
    const lock = (who: Actor | undefined, lock_reason: string) =>
      forge.rest(who, 'PUT', `${issueOf(pull)}/lock`, { lock_reason })
    expect((await lock(undefined, 'Spam')).status).toBe(401)
    expect((await lock(users.eve, 'Spam')).status).toBe(403)
    const wrong = await lock(users.bob, 'x'.repeat(256))
    expect([wrong.status, wrong.body.message]).toEqual([400, 'reason not valid'])
    expect((await lock(users.bob, ' My own words ')).status).toBe(204)
    const entries = await forge.ask(undefined, 'GET', `${issueOf(pull)}/timeline`)
    expect(entries.at(-1)).toMatchObject({ type: 'lock', body: 'My own words' })
    expect((await lock(users.carol, 'Spam')).status).toBe(204)
    for (const path of [pull.pull, issueOf(pull)])
      expect(await forge.ask(undefined, 'GET', path)).toMatchObject({ is_locked: true })

    const asEve = createClient(
      IssueCommentService,
      transportTo(server.url, 'gRPC', users.eve.authorization),
    )
    const place = { owner: 'bob', repo: 'locked' }
    expect(
      await refusalOf(asEve.createIssueComment({ ...place, index: 1n, body: 'Still' })),
    ).toMatchObject({ code: 'PermissionDenied', reason: 'CONVERSATION_LOCKED' })
    const refused = await Promise.all([
      forge.rest(users.eve, 'PATCH', `${pull.path}/issues/comments/${before.id}`, { body: 'New' }),
      forge.rest(users.eve, 'POST', pull.reviews, { event: 'COMMENT', body: 'So' }),
      react(users.eve, issueOf(pull), '+1'),
      react(users.eve, `${pull.path}/issues/comments/${before.id}`, '+1'),
      react(users.eve, issueOf(pull), '+1', 'DELETE'),
    ])
    const [text, reaction] = [
      [403, 'You cannot comment on a locked issue.'],
      [403, 'no permission to change reaction'],
    ]
    expect(refused.map(({ status, body }) => [status, body.message])).toEqual([
      text,
      text,
      reaction,
      reaction,
      reaction,
    ])
    expect((await comment(users.carol, pull, 'Calm down')).status).toBe(201)
    expect((await react(users.carol, issueOf(pull), 'eyes')).status).toBe(201)
    // Nobody has to leave words behind.
    expect(
      (await forge.rest(users.eve, 'DELETE', `${pull.path}/issues/comments/${before.id}`)).status,
    ).toBe(204)

    const unlock = (who: Actor) => forge.rest(who, 'DELETE', `${issueOf(pull)}/lock`)
    expect((await unlock(users.eve)).status).toBe(403)
    for (let i = 0; i < 2; i++) expect((await unlock(users.bob)).status).toBe(204)
    expect(await forge.ask(undefined, 'GET', pull.pull)).toMatchObject({ is_locked: false })
    expect((await comment(users.eve, pull, 'After')).status).toBe(201)
  })
})

describe('the timeline of a pull request', () => {
  it('has comments, reviews and events, oldest first, for those who may read it', async () => {
    const pull = await forge.pull('told')
    const { ask } = forge
    await ask(users.bob, 'POST', `${pull.path}/branches`, { new_branch_name: 'next' })
    const said = (await comment(users.eve, pull, 'Hello')).body
    await ask(users.bob, 'PATCH', pull.pull, { title: 'Another change' })
    await ask(users.bob, 'PATCH', pull.pull, { base: 'next' })
    await ask(users.bob, 'PUT', `${issueOf(pull)}/lock`, { lock_reason: 'Spam' })
    await ask(users.bob, 'DELETE', `${issueOf(pull)}/lock`)
    await ask(users.bob, 'PATCH', pull.pull, { state: 'closed' })
    await ask(users.carol, 'PATCH', pull.pull, { state: 'open' })
    const { head: former } = await ask(undefined, 'GET', pull.pull)
    const head = await forge.change(users.carol, pull.path, 'topic', 'main', 'more.txt')
    const review = await forge.review(users.bob, pull, 'APPROVED', 'Well done')
    // Pending reviews are for their reviewers only.
    await forge.review(users.carol, pull, 'PENDING', 'Secret')
    await ask(users.bob, 'POST', `${pull.pull}/merge`, { Do: 'merge' })
    const { merge_commit_sha } = await ask(users.bob, 'GET', pull.pull)

    const timeline = `${issueOf(pull)}/timeline`
    const entries = await ask(undefined, 'GET', timeline)
    const of = (type: string) => entries.find((entry: { type: string }) => entry.type === type)
    expect(entries.map(({ type }: { type: string }) => type).sort()).toEqual([
      'change_target_branch',
      'change_title',
      'close',
      'comment',
      'lock',
      'merge_pull',
      'pull_push',
      'reopen',
      'review',
      'unlock',
    ])
    expect(of('comment')).toMatchObject({ id: said.id, body: 'Hello', user: { login: 'eve' } })
    expect(of('change_title')).toMatchObject({
      old_title: 'A change',
      new_title: 'Another change',
      user: { login: 'bob' },
    })
    expect(of('change_target_branch')).toMatchObject({ old_ref: 'main', new_ref: 'next' })
    expect(of('lock')).toMatchObject({ body: 'Spam', user: { login: 'bob' } })
    expect(of('reopen')).toMatchObject({ user: { login: 'carol' } })
    expect(of('pull_push')).toMatchObject({
      ref_commit_sha: head,
      old_commit_sha: former.sha,
      user: { login: 'carol' },
    })
    expect(of('reopen')).not.toHaveProperty('old_commit_sha')
    expect(of('review')).toMatchObject({ id: review.id, review_id: review.id, body: 'Well done' })
    expect(of('merge_pull')).toMatchObject({ ref_commit_sha: merge_commit_sha })
    const times = entries.map(({ created_at }: { created_at: string }) => created_at)
    expect(times).toEqual([...times].sort())

    const page = await forge.rest(undefined, 'GET', `${timeline}?limit=4&page=3`)
    expect([page.body.length, page.headers.get('x-total-count')]).toEqual([2, '10'])
    expect(await ask(undefined, 'GET', `${timeline}?since=2100-01-01T00:00:00Z`)).toEqual([])
  })

  it('of a private repository is hidden', async () => {
    const pull = await forge.pull('hidden', { private: true })
    expect((await forge.rest(users.eve, 'GET', `${issueOf(pull)}/timeline`)).status).toBe(404)
    expect(await forge.ask(users.carol, 'GET', `${issueOf(pull)}/timeline`)).toEqual([])
  })
})
