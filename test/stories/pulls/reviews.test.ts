import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPullRequest } from '../../../src/forge/pulls/heads/pull-requests.rows.ts'
import { countApprovals, findRule, homeOf } from '../../../src/forge/pulls/review/review-states.ts'
import { tokenOf } from '../../support/callers.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, signIn, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

const SOMETIME = expect.stringMatching(/^20\d\d-/)

/** What the reviews of a pull request of bob's come down to. */
async function approvals({ name }: ReviewedPull) {
  const { app } = server
  const repository = await app.db
    .selectFrom('repositories')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  const pull = await findPullRequest(app.db, repository.id, 1)
  if (!pull) return expect.fail('no pull request')
  return countApprovals(app, await homeOf(app.db, pull), pull, await findRule(app.db, pull))
}

const protect = (path: string, rule: object) =>
  forge.ask(users.bob, 'POST', `${path}/branch_protections`, {
    rule_name: 'main',
    enable_push: true,
    ...rule,
  })

describe('a review', () => {
  it('is visible to every reader of the pull request', async () => {
    const pull = await forge.pull('plain')
    const made = await forge.rest(users.bob, 'POST', pull.reviews, {
      event: 'APPROVED',
      body: '*Fine.*',
    })
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.any(Number),
        user: expect.objectContaining({ login: 'bob' }),
        team: null,
        state: 'APPROVED',
        body: '*Fine.*',
        commit_id: pull.head,
        stale: false,
        official: true,
        dismissed: false,
        comments_count: 0,
        submitted_at: SOMETIME,
        updated_at: SOMETIME,
        html_url: `${server.url}/bob/plain/pulls/1#review-${made.body.id}`,
        pull_request_url: `${server.url}/bob/plain/pulls/1`,
        dismissal_message: '',
      },
    ])
    for (const who of [undefined, users.eve, users.carol]) {
      const listed = await forge.rest(who, 'GET', pull.reviews)
      expect([listed.body.length, listed.headers.get('x-total-count')]).toEqual([1, '1'])
      expect((await forge.rest(who, 'GET', `${pull.reviews}/${made.body.id}`)).body.body).toBe(
        '*Fine.*',
      )
    }
    // Who takes part is told, save for who did it.
    for (const [who, unread] of [
      [users.carol, true],
      [users.bob, false],
      [users.eve, false],
    ] as const) {
      expect((await forge.ask(who, 'GET', pull.pull)).unread).toBe(unread)
    }
    await forge.review(users.carol, pull, 'COMMENT')
    expect((await forge.ask(users.bob, 'GET', pull.pull)).unread).toBe(true)
  })

  it('is the same over gRPC, in all operations', async () => {
    const { name, head } = await forge.pull('by-grpc')
    const key = { owner: 'bob', repo: name, index: 1n }
    const [bob, eve] = [forge.reviewsAs(users.bob), forge.reviewsAs(users.eve)]
    const begun = await bob.createReview({
      ...key,
      body: 'To be continued.',
      comments: [{ path: 'topic.txt', body: 'This line.', newPosition: 2n }],
    })
    expect(begun).toMatchObject({
      state: 'PENDING',
      commitId: head,
      commentsCount: 1n,
      official: false,
    })
    expect((await eve.listReviews(key)).total).toBe(0n)
    const submitted = await bob.submitReview({ ...key, id: begun.id, event: 'REQUEST_CHANGES' })
    expect(submitted).toMatchObject({
      id: begun.id,
      state: 'REQUEST_CHANGES',
      body: 'To be continued.',
      official: true,
    })
    const { comments } = await eve.listReviewComments({ ...key, id: begun.id })
    expect(comments).toMatchObject([
      { path: 'topic.txt', position: 2n, originalPosition: 0n, user: { login: 'bob' } },
    ])
    const [{ id: comment } = { id: 0n }] = comments
    const reply = await eve.replyToReviewComment({ ...key, comment, body: 'Why?' })
    expect(reply).toMatchObject({
      pullRequestReviewId: begun.id,
      position: 2n,
      user: { login: 'eve' },
    })
    const more = { path: 'topic.txt', body: 'And that.', newPosition: 1n }
    const added = await bob.createReviewComment({ ...key, id: begun.id, ...more })
    expect(await bob.getReviewComment({ ...key, id: begun.id, comment: added.id })).toEqual(added)
    const place = { owner: 'bob', repo: name, comment }
    await bob.resolveReviewComment(place)
    expect((await eve.getReviewComment({ ...key, id: begun.id, comment })).resolver?.login).toBe(
      'bob',
    )
    await bob.unresolveReviewComment(place)
    expect((await eve.getReviewComment({ ...key, id: begun.id, comment })).resolver).toBeUndefined()
    await bob.deleteReviewComment({ ...key, id: begun.id, comment: added.id })
    expect((await eve.getReview({ ...key, id: begun.id })).commentsCount).toBe(2n)
    const dismissed = await bob.dismissReview({ ...key, id: begun.id, message: 'Never mind.' })
    expect(dismissed).toMatchObject({ dismissed: true, dismissalMessage: 'Never mind.' })
    expect(await bob.undismissReview({ ...key, id: begun.id })).toMatchObject({
      dismissed: false,
      dismissalMessage: '',
    })
    const { reviews } = await bob.requestReviewers({ ...key, reviewers: ['eve'] })
    expect(reviews).toMatchObject([{ state: 'REQUEST_REVIEW', user: { login: 'eve' } }])
    await eve.withdrawReviewRequests({ ...key, reviewers: ['eve'] })
    await bob.deleteReview({ ...key, id: begun.id })
    expect((await eve.listReviews(key)).total).toBe(0n)
  })

  it('is hidden from others while it is pending', async () => {
    const pull = await forge.pull('pending')
    const before = await forge.ask(users.carol, 'GET', pull.pull)
    const events = () =>
      server.app.db.selectFrom('repository_events').select('type').orderBy('id').execute()
    const told = (await events()).length
    const begun = await forge.review(users.eve, pull, 'PENDING', 'Secret.', {
      comments: [{ path: 'topic.txt', new_position: 1, body: 'First.' }],
    })
    expect([begun.state, begun.comments_count]).toEqual(['PENDING', 1])
    const own = `${pull.reviews}/${begun.id}`
    for (const who of [users.ada, users.bob, users.carol, undefined]) {
      expect(await forge.seen(who, pull)).toEqual([])
      expect((await forge.rest(who, 'GET', own)).status).toBe(404)
      expect((await forge.rest(who, 'GET', `${own}/comments`)).status).toBe(404)
    }
    for (const [method, path] of [
      ['POST', own],
      ['DELETE', own],
      ['POST', `${own}/dismissals`],
    ] as const) {
      expect(
        (await forge.rest(users.ada, method, path, { event: 'COMMENT', body: 'x' })).status,
      ).toBe(404)
    }
    const {
      updated_at,
      review_comments = 0,
      ...same
    } = await forge.ask(users.carol, 'GET', pull.pull)
    expect({ updated_at, ...same, review_comments }).toMatchObject({
      updated_at: before.updated_at,
      review_comments: 0,
    })
    expect(await forge.seen(users.eve, pull)).toEqual(['PENDING eve'])
    // There is one: what comes later goes into it, and goes out with it.
    const more = await forge.review(users.eve, pull, '', 'Still secret.', {
      comments: [{ path: 'topic.txt', new_position: 2, body: 'Second.' }],
    })
    expect(more).toMatchObject({ id: begun.id, comments_count: 2, body: 'Still secret.' })
    expect(await events()).toHaveLength(told)
    const out = await forge.review(users.eve, pull, 'COMMENT', '')
    expect((await events()).slice(told)).toEqual([{ type: 'PULL_REQUEST_REVIEWED' }])
    expect(out).toMatchObject({
      id: begun.id,
      state: 'COMMENT',
      comments_count: 2,
      official: false,
    })
    expect(await forge.seen(users.bob, pull)).toEqual(['COMMENT eve'])
    expect((await forge.ask(users.bob, 'GET', pull.pull)).review_comments).toBe(2)
  })

  it('can be deleted by its reviewer and by administrators of the instance', async () => {
    const pull = await forge.pull('deleted')
    const [one, two] = [
      await forge.review(users.eve, pull, 'COMMENT'),
      await forge.review(users.eve, pull, 'COMMENT'),
    ]
    for (const who of [users.bob, users.carol]) {
      const { status } = await forge.rest(who, 'DELETE', `${pull.reviews}/${one.id}`)
      expect(status).toBe(403)
    }
    expect((await forge.rest(users.eve, 'DELETE', `${pull.reviews}/${one.id}`)).status).toBe(204)
    expect((await forge.rest(users.ada, 'DELETE', `${pull.reviews}/${two.id}`)).status).toBe(204)
    expect((await forge.rest(users.eve, 'DELETE', `${pull.reviews}/${one.id}`)).status).toBe(404)
  })

  it('restores no earlier vote of its reviewer when it is deleted, on any base', async () => {
    const pull = await forge.pull('taken-back')
    await forge.change(users.bob, pull.path, 'other')
    await forge.review(users.bob, pull, 'APPROVED')
    const { id } = await forge.review(users.bob, pull, 'REQUEST_CHANGES')
    expect((await forge.rest(users.bob, 'DELETE', `${pull.reviews}/${id}`)).status).toBe(204)
    for (const base of ['other', 'main']) await forge.ask(users.carol, 'PATCH', pull.pull, { base })
    expect(await approvals(pull)).toMatchObject({ approvals: 0, rejections: 0 })
    await forge.review(users.bob, pull, 'APPROVED')
    expect(await approvals(pull)).toMatchObject({ approvals: 1 })
  })

  it('counts once for each reviewer: the latest vote counts', async () => {
    const pull = await forge.pull('votes')
    await forge.review(users.bob, pull, 'APPROVED')
    await forge.review(users.eve, pull, 'APPROVED')
    expect(await approvals(pull)).toMatchObject({ approvals: 1, rejections: 0 })
    await forge.review(users.bob, pull, 'REQUEST_CHANGES')
    expect(await approvals(pull)).toMatchObject({ approvals: 0, rejections: 1 })
    // A comment is no vote, and takes none back.
    await forge.review(users.bob, pull, 'COMMENT')
    expect(await approvals(pull)).toMatchObject({ approvals: 0, rejections: 1 })
    const listed = await forge.ask(users.eve, 'GET', pull.reviews)
    expect(listed.map(({ official }: { official: boolean }) => official)).toEqual([
      false,
      false,
      true,
      false,
    ])
  })

  it('counts only while its reviewer has the right', async () => {
    const pull = await forge.pull('rights')
    await forge.ask(users.bob, 'PUT', `${pull.path}/collaborators/eve`, { permission: 'write' })
    const made = await forge.review(users.eve, pull, 'APPROVED')
    expect([made.official, await approvals(pull)]).toMatchObject([true, { approvals: 1 }])
    await forge.ask(users.bob, 'DELETE', `${pull.path}/collaborators/eve`)
    expect(await approvals(pull)).toMatchObject({ approvals: 0, approverIds: [] })
  })

  it('counts by the list of the rule', async () => {
    const pull = await forge.pull('listed')
    await protect(pull.path, {
      enable_approvals_whitelist: true,
      approvals_whitelist_username: ['eve'],
    })
    expect((await forge.review(users.bob, pull, 'APPROVED')).official).toBe(false)
    expect((await forge.review(users.eve, pull, 'APPROVED')).official).toBe(true)
    expect(await approvals(pull)).toMatchObject({ approvals: 1 })
    await forge.ask(users.bob, 'PATCH', `${pull.path}/branch_protections/main`, {
      approvals_whitelist_username: ['bob'],
    })
    expect(await approvals(pull)).toMatchObject({ approvals: 0 })
  })
})

describe('a review is refused for', () => {
  type Case = [
    title: string,
    who: keyof PullTestUsers,
    body: { event: string; body?: string; commit_id?: string },
    status: number,
    reason: string,
    text: string,
  ]
  let refused: Promise<ReviewedPull> | undefined
  it.each<Case>([
    [
      'an approval of one’s own',
      'carol',
      { event: 'APPROVED' },
      422,
      'OWN_PULL_APPROVED',
      'approve your own pull is not allowed',
    ],
    [
      'a rejection of one’s own',
      'carol',
      { event: 'REQUEST_CHANGES', body: 'x' },
      422,
      'OWN_PULL_REJECTED',
      'reject your own pull is not allowed',
    ],
    [
      'a rejection without a body',
      'bob',
      { event: 'REQUEST_CHANGES' },
      422,
      'REVIEW_BODY_REQUIRED',
      'review event REQUEST_CHANGES requires a body',
    ],
    [
      'a beginning without a body',
      'bob',
      { event: '' },
      422,
      'REVIEW_BODY_REQUIRED',
      'review event PENDING requires a body',
    ],
    [
      'a comment that says nothing',
      'bob',
      { event: 'COMMENT', body: ' ' },
      422,
      'REVIEW_BODY_REQUIRED',
      'review event COMMENT requires a body or a comment',
    ],
    [
      'one of a commit of another kind',
      'bob',
      { event: 'APPROVED', commit_id: 'main' },
      422,
      'REVIEW_COMMIT_UNKNOWN',
      'main is not a commit of this pull request',
    ],
    [
      'one of a commit that is not there',
      'bob',
      { event: 'APPROVED', commit_id: 'a'.repeat(40) },
      422,
      'REVIEW_COMMIT_UNKNOWN',
      `${'a'.repeat(40)} is not a commit of this pull request`,
    ],
    [
      'too long a one',
      'bob',
      { event: 'COMMENT', body: 'x'.repeat(65_537) },
      422,
      'INVALID_FIELD',
      'body is longer than 65536 characters',
    ],
  ])('%s', async (_, who, body, status, reason, text) => {
    refused ??= forge.pull('refused')
    const { reviews, name } = await refused
    const answer = await forge.rest(users[who], 'POST', reviews, body)
    expect([answer.status, answer.body.message]).toEqual([status, text])
    const { commit_id: commitId = '', ...rest } = body
    const made = forge
      .reviewsAs(users[who])
      .createReview({ owner: 'bob', repo: name, index: 1n, commitId, ...rest })
    expect(await refusalOf(made)).toMatchObject({ reason, text })
  })

  it('a commit of the base or of another branch', async () => {
    const pull = await forge.pull('foreign')
    const base = (await forge.ask(users.bob, 'GET', `${pull.path}/branches/main`)).commit.id
    const other = await forge.change(users.bob, pull.path, 'other')
    const second = await forge.change(users.carol, pull.path, 'topic', 'main', 'second.txt')
    for (const commit_id of [base, other]) {
      const { status } = await forge.rest(users.bob, 'POST', pull.reviews, {
        event: 'APPROVED',
        commit_id,
      })
      expect(status).toBe(422)
    }
    const earlier = await forge.review(users.bob, pull, 'APPROVED', '', { commit_id: pull.head })
    expect([earlier.commit_id, earlier.stale]).toEqual([pull.head, true])
    const latest = await forge.review(users.bob, pull, 'APPROVED', '', {
      commit_id: second.toUpperCase(),
    })
    expect([latest.commit_id, latest.stale]).toEqual([second, false])
  })

  it('a closed pull request, and for a submitted review', async () => {
    const pull = await forge.pull('closed')
    const begun = await forge.review(users.bob, pull, '', 'Later.')
    const submit = (body: object) =>
      forge.rest(users.bob, 'POST', `${pull.reviews}/${begun.id}`, body)
    const stays = await submit({ event: 'PENDING', body: 'x' })
    expect([stays.status, stays.body.message]).toEqual([422, 'review stay pending'])
    await forge.ask(users.carol, 'PATCH', pull.pull, { state: 'closed' })
    const late = await submit({ event: 'APPROVED' })
    expect([late.status, late.body.message]).toEqual([
      422,
      "can't submit review for a closed or merged PR",
    ])
    expect((await submit({ event: 'COMMENT' })).body.state).toBe('COMMENT')
    const again = await submit({ event: 'COMMENT', body: 'x' })
    expect([again.status, again.body.message]).toEqual([
      422,
      'only a pending review can be submitted',
    ])
    const rejected = await forge.rest(users.bob, 'POST', pull.reviews, {
      event: 'REQUEST_CHANGES',
      body: 'x',
    })
    expect(rejected.status).toBe(422)
  })

  it('an archived repository, for blocked users, and for callers who may not read', async () => {
    const pull = await forge.pull('guarded')
    const review = { event: 'COMMENT', body: 'x' }
    const begun = await forge.review(users.eve, pull, '', 'Later.')
    await forge.ask(users.carol, 'PUT', '/user/blocks/eve', {})
    expect((await forge.rest(users.eve, 'POST', pull.reviews, review)).body.message).toBe(
      'user is blocked',
    )
    expect(
      (await forge.rest(users.eve, 'POST', `${pull.reviews}/${begun.id}`, review)).status,
    ).toBe(403)
    await forge.ask(users.carol, 'DELETE', '/user/blocks/eve')
    expect((await forge.rest(undefined, 'POST', pull.reviews, review)).status).toBe(401)
    const reader = await tokenOf(server.url, users.bob, ['read:repository'])
    expect((await forge.rest(reader, 'POST', pull.reviews, review)).status).toBe(403)

    await forge.ask(users.bob, 'PATCH', pull.path, { private: true })
    const publicOnly = await tokenOf(server.url, users.bob, ['all', 'public-only'])
    for (const who of [users.eve, undefined, publicOnly]) {
      expect((await forge.rest(who, 'GET', pull.reviews)).status).toBe(404)
      expect((await forge.rest(who, 'GET', `${pull.reviews}/${begun.id}`)).status).toBe(404)
    }
    for (const [method, path] of [
      ['POST', pull.reviews],
      ['POST', `${pull.reviews}/${begun.id}`],
      ['DELETE', `${pull.reviews}/${begun.id}`],
      ['POST', `${pull.reviews}/${begun.id}/dismissals`],
      ['POST', pull.requested],
      ['DELETE', pull.requested],
    ] as const) {
      expect((await forge.rest(users.eve, method, path, review)).status).toBe(404)
    }
    await forge.ask(users.bob, 'PATCH', pull.path, { private: false, archived: true })
    for (const [method, path] of [
      ['POST', pull.reviews],
      ['POST', `${pull.reviews}/${begun.id}`],
      ['DELETE', `${pull.reviews}/${begun.id}`],
      ['POST', pull.requested],
    ] as const) {
      expect((await forge.rest(users.eve, method, path, review)).status).toBe(423)
    }
  })
})

describe('a review of an earlier commit', () => {
  it('is stale, unless the head proposes the same change', async () => {
    const pull = await forge.pull('stale')
    const made = await forge.review(users.bob, pull, 'APPROVED')
    const isStale = async () =>
      (await forge.ask(users.eve, 'GET', `${pull.reviews}/${made.id}`)).stale
    // What others have done comes into the head: that is not for the reviewer.
    await forge.change(users.bob, pull.path, 'main', 'main', 'elsewhere.txt')
    await forge.ask(users.carol, 'POST', `${pull.pull}/update`)
    expect(await isStale()).toBe(false)
    await forge.change(users.carol, pull.path, 'topic', 'main', 'more.txt')
    expect(await isStale()).toBe(true)
    expect(await approvals(pull)).toMatchObject({ approvals: 1, staleApprovals: 1 })
    await protect(pull.path, { ignore_stale_approvals: true })
    expect(await approvals(pull)).toMatchObject({ approvals: 0, staleApprovals: 1 })
  })

  it('is stale after a force push to the base, if the head then proposes more', async () => {
    const pull = await forge.pull('forced')
    const tip = async () =>
      (await forge.ask(users.bob, 'GET', `${pull.path}/branches/main`)).commit.id
    const first = await tip()
    await forge.change(users.bob, pull.path, 'main', 'main', 'elsewhere.txt')
    await forge.ask(users.carol, 'POST', `${pull.pull}/update`)
    await protect(pull.path, {
      ignore_stale_approvals: true,
      enable_force_push: true,
      required_approvals: 1,
    })
    const made = await forge.review(users.bob, pull, 'APPROVED')
    const isStale = async () =>
      (await forge.ask(users.eve, 'GET', `${pull.reviews}/${made.id}`)).stale
    // More on the base is not for the reviewer.
    await forge.change(users.bob, pull.path, 'main', 'main', 'more.txt')
    expect([await isStale(), await approvals(pull)]).toEqual([
      false,
      expect.objectContaining({ approvals: 1 }),
    ])
    const forced = { old_commit_id: await tip(), new_commit_id: first, force: true }
    await forge.ask(users.bob, 'PUT', `${pull.path}/branches/main`, forced)
    const { status, headers } = await forge.rest(users.bob, 'POST', `${pull.pull}/merge`, {
      Do: 'merge',
    })
    expect([status, headers.get('x-error-reason')]).toEqual([405, 'APPROVALS_MISSING'])
    expect([await isStale(), await approvals(pull)]).toEqual([
      true,
      expect.objectContaining({ approvals: 0, staleApprovals: 1 }),
    ])
    // And back again, where it says what was said.
    const back = { old_commit_id: first, new_commit_id: forced.old_commit_id }
    await forge.ask(users.bob, 'PUT', `${pull.path}/branches/main`, back)
    expect([await isStale(), await approvals(pull)]).toEqual([
      false,
      expect.objectContaining({ approvals: 1 }),
    ])
  })

  it('is dismissed after a force push to the base, if the rule requires it', async () => {
    const pull = await forge.pull('forced-dismissed')
    const first = (await forge.ask(users.bob, 'GET', `${pull.path}/branches/main`)).commit.id
    await forge.change(users.bob, pull.path, 'main', 'main', 'elsewhere.txt')
    await forge.ask(users.carol, 'POST', `${pull.pull}/update`)
    await protect(pull.path, { dismiss_stale_approvals: true, enable_force_push: true })
    await forge.review(users.bob, pull, 'APPROVED')
    await forge.ask(users.bob, 'PUT', `${pull.path}/branches/main`, {
      new_commit_id: first,
      force: true,
    })
    const isDismissed = async () => {
      const [review] = await server.app.db
        .selectFrom('reviews')
        .innerJoin('issues', 'issues.id', 'reviews.pull_request_id')
        .innerJoin('repositories', 'repositories.id', 'issues.repository_id')
        .select('dismissed')
        .where('repositories.name', '=', 'forced-dismissed')
        .execute()
      return review?.dismissed
    }
    // Nobody has asked for it.
    await expect.poll(isDismissed).toBe(1)
  })

  it('never counts as fresh before it was compared', async () => {
    const pull = await forge.pull('unknown')
    await protect(pull.path, { ignore_stale_approvals: true })
    await forge.review(users.bob, pull, 'APPROVED')
    await forge.change(users.carol, pull.path, 'topic', 'main', 'more.txt')
    // As if the process had ended right behind the push.
    await server.app.db.updateTable('reviews').set({ compared_head: pull.head, stale: 0 }).execute()
    expect(await approvals(pull)).toMatchObject({ approvals: 0, staleApprovals: 1 })
  })

  it('is dismissed if the rule requires it, and stays dismissed', async () => {
    const pull = await forge.pull('dismissing')
    await protect(pull.path, { dismiss_stale_approvals: true })
    const approved = await forge.review(users.bob, pull, 'APPROVED')
    const rejected = await forge.review(users.ada, pull, 'REQUEST_CHANGES')
    await forge.change(users.carol, pull.path, 'topic', 'main', 'more.txt')
    expect(await approvals(pull)).toMatchObject({ approvals: 0, rejections: 1 })
    expect(await forge.ask(users.eve, 'GET', `${pull.reviews}/${approved.id}`)).toMatchObject({
      dismissed: true,
      stale: true,
    })
    expect((await forge.ask(users.eve, 'GET', `${pull.reviews}/${rejected.id}`)).dismissed).toBe(
      false,
    )
    const timeline = await forge.ask(users.eve, 'GET', `${pull.path}/issues/1/timeline?limit=50`)
    const told = timeline.filter(({ type }: { type: string }) => type === 'dismiss_review')
    expect(told).toMatchObject([
      { review_id: approved.id, user: { login: 'Ghost' }, body: expect.stringMatching('changed') },
    ])
    await forge.ask(users.bob, 'PATCH', `${pull.path}/branch_protections/main`, {
      dismiss_stale_approvals: false,
    })
    expect(await approvals(pull)).toMatchObject({ approvals: 0 })
  })

  it('has the commit for which it was begun', async () => {
    const pull = await forge.pull('begun')
    const begun = await forge.review(users.bob, pull, '', 'Not yet.')
    await forge.change(users.carol, pull.path, 'topic', 'main', 'more.txt')
    await forge.ask(users.bob, 'POST', `${pull.reviews}/${begun.id}`, { event: 'APPROVED' })
    expect(await forge.ask(users.bob, 'GET', `${pull.reviews}/${begun.id}`)).toMatchObject({
      commit_id: pull.head,
      stale: true,
    })
  })

  it('is stale on another base, and counts by the rule there', async () => {
    const pull = await forge.pull('retargeted')
    await forge.change(users.bob, pull.path, 'release')
    await forge.ask(users.bob, 'POST', `${pull.path}/branch_protections`, {
      rule_name: 'release',
      enable_push: true,
      enable_approvals_whitelist: true,
      approvals_whitelist_username: ['eve'],
    })
    const ofBob = await forge.review(users.bob, pull, 'APPROVED')
    const ofEve = await forge.review(users.eve, pull, 'APPROVED')
    expect([ofBob.official, ofEve.official]).toEqual([true, false])
    await forge.ask(users.carol, 'PATCH', pull.pull, { base: 'release' })
    const [bobs, eves] = await forge.ask(users.eve, 'GET', pull.reviews)
    expect([bobs.official, eves.official]).toEqual([false, true])
    // Both branches begin at the same commit: from there the same is proposed.
    expect([bobs.stale, await approvals(pull)]).toMatchObject([false, { approvals: 1 }])
  })

  it('is stale on an older base, since the head then proposes more', async () => {
    const pull = await forge.pull('stacked')
    await forge.change(users.carol, pull.path, 'upper', 'topic')
    const upper = { ...pull, pull: `${pull.path}/pulls/2`, reviews: `${pull.path}/pulls/2/reviews` }
    await forge.ask(users.carol, 'POST', `${pull.path}/pulls`, {
      head: 'upper',
      base: 'topic',
      title: 'More',
    })
    const { id } = await forge.review(users.bob, upper, 'APPROVED')
    const begun = await forge.review(users.ada, upper, 'PENDING')
    await forge.ask(users.carol, 'PATCH', upper.pull, { base: 'main' })
    await forge.ask(users.ada, 'POST', `${upper.reviews}/${begun.id}`, { event: 'APPROVED' })
    for (const review of [id, begun.id]) {
      expect(await forge.ask(users.eve, 'GET', `${upper.reviews}/${review}`)).toMatchObject({
        stale: true,
        official: true,
      })
    }
  })
})

describe('a dismissal', () => {
  it('is for administrators of the repository, and for votes', async () => {
    const pull = await forge.pull('dismissed')
    const first = await forge.review(users.eve, pull, 'REQUEST_CHANGES')
    const second = await forge.review(users.eve, pull, 'APPROVED')
    const comment = await forge.review(users.eve, pull, 'COMMENT')
    const dismiss = (who: Actor, id: number, body: object = {}, what = 'dismissals') =>
      forge.rest(who, 'POST', `${pull.reviews}/${id}/${what}`, body)
    for (const what of ['dismissals', 'undismissals']) {
      const denied = await dismiss(users.carol, second.id, {}, what)
      expect([denied.status, denied.body.message]).toEqual([403, 'Must be repo admin'])
      expect((await dismiss(users.bob, comment.id, {}, what)).status).toBe(403)
      expect((await dismiss(users.bob, 999_999, {}, what)).status).toBe(404)
    }
    const done = await dismiss(users.bob, second.id, { message: 'Not you.' })
    expect([done.status, done.body]).toMatchObject([
      200,
      { dismissed: true, dismissal_message: 'Not you.' },
    ])
    expect((await forge.ask(users.eve, 'GET', `${pull.reviews}/${first.id}`)).dismissed).toBe(false)
    expect((await dismiss(users.bob, second.id, { priors: true })).status).toBe(200)
    expect((await forge.ask(users.eve, 'GET', `${pull.reviews}/${first.id}`)).dismissed).toBe(true)
    const taken = await dismiss(users.bob, first.id, {}, 'undismissals')
    expect([taken.status, taken.body.dismissed]).toEqual([200, false])
    await forge.ask(users.carol, 'PATCH', pull.pull, { state: 'closed' })
    expect((await dismiss(users.bob, first.id)).status).toBe(403)
  })

  it('removes an approval from the count, and its reversal restores the approval', async () => {
    const pull = await forge.pull('counted')
    const { id } = await forge.review(users.bob, pull, 'APPROVED')
    await forge.ask(users.ada, 'POST', `${pull.reviews}/${id}/dismissals`, {})
    expect(await approvals(pull)).toMatchObject({ approvals: 0 })
    await forge.ask(users.ada, 'POST', `${pull.reviews}/${id}/undismissals`)
    expect(await approvals(pull)).toMatchObject({ approvals: 1 })
  })
})

describe('at the same time', () => {
  it('a user begins one review, however often', async () => {
    const pull = await forge.pull('begun-twice')
    const comments = [{ path: 'topic.txt', new_position: 1, body: 'x' }]
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        forge.review(users.eve, pull, 'PENDING', 'Both.', { comments }),
      ),
    )
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    const [only, ...others] = await forge.ask(users.eve, 'GET', pull.reviews)
    expect([only.comments_count, others]).toEqual([4, []])
  })

  it('a review is submitted once', async () => {
    const pull = await forge.pull('submitted-twice')
    const { id } = await forge.review(users.bob, pull, '', 'Later.')
    const events = ['APPROVED', 'REQUEST_CHANGES', 'COMMENT', 'APPROVED']
    const answers = await Promise.all(
      events.map((event) => forge.rest(users.bob, 'POST', `${pull.reviews}/${id}`, { event })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422])
    expect(await forge.seen(users.eve, pull)).toHaveLength(1)
  })

  it('approvals of one user count once', async () => {
    const pull = await forge.pull('approved-twice')
    await Promise.all(Array.from({ length: 4 }, () => forge.review(users.bob, pull, 'APPROVED')))
    expect(await approvals(pull)).toMatchObject({ approvals: 1 })
  })
})

describe('a deleted account', () => {
  it('leaves its reviews, which no longer count, and takes its pending ones along', async () => {
    const pull = await forge.pull('gone')
    const user = {
      username: 'fay',
      email: 'fay@example.org',
      password: 'correct horse battery',
      must_change_password: false,
    }
    await forge.ask(users.ada, 'POST', '/admin/users', user)
    const fay = await signIn(server.url, 'fay')
    await forge.ask(users.bob, 'PUT', `${pull.path}/collaborators/fay`, { permission: 'write' })
    const comments = [{ path: 'topic.txt', new_position: 1, body: 'x' }]
    const { id } = await forge.review(fay, pull, 'APPROVED', 'Yes.', { comments })
    await forge.review(fay, pull, 'PENDING', 'But.')
    await forge.ask(users.bob, 'POST', pull.requested, { reviewers: ['fay'] })
    expect(await forge.seen(fay, pull)).toEqual([
      'APPROVED fay',
      'PENDING fay',
      'REQUEST_REVIEW fay',
    ])
    await forge.ask(users.ada, 'DELETE', '/admin/users/fay?purge=true')
    expect(await forge.seen(users.eve, pull)).toEqual(['APPROVED Ghost'])
    expect(await approvals(pull)).toMatchObject({ approvals: 0, officialRequests: 0 })
    const [comment] = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments`)
    expect(comment.user).toMatchObject({ id: -1, login: 'Ghost' })
    expect(
      await server.app.db
        .selectFrom('reviews')
        .selectAll()
        .where('state', '=', 'PENDING')
        .execute(),
    ).not.toContainEqual(expect.objectContaining({ body: 'But.' }))
  })
})
