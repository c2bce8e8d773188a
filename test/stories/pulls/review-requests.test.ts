import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPullRequest } from '../../../src/forge/pulls/heads/pull-requests.rows.ts'
import { countApprovals, findRule, homeOf } from '../../../src/forge/pulls/review/review-states.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let testUsers: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  testUsers = await createPullTestUsers(server.url)
  forge = reviewForge(server, testUsers)
  await forge.ask(testUsers.bob, 'POST', '/orgs', { username: 'acme' })
  for (const [name, visibility, units] of [
    ['Crew', 'public', { 'repo.code': 'write', 'repo.pulls': 'write' }],
    ['Ghosts', 'private', { 'repo.code': 'read', 'repo.pulls': 'read' }],
  ] as const) {
    const { id } = await forge.ask(testUsers.bob, 'POST', '/orgs/acme/teams', {
      name,
      visibility,
      units_map: units,
      includes_all_repositories: true,
    })
    await forge.ask(
      testUsers.bob,
      'PUT',
      `/teams/${id}/members/${name === 'Crew' ? 'carol' : 'ada'}`,
    )
  }
})
afterAll(() => server.stop())

const askFor = (
  who: Actor,
  { requested }: ReviewedPull,
  reviewers: string[],
  team_reviewers: string[] = [],
) => forge.rest(who, 'POST', requested, { reviewers, team_reviewers })

const withdraw = (
  who: Actor,
  { requested }: ReviewedPull,
  reviewers: string[],
  team_reviewers: string[] = [],
) => forge.rest(who, 'DELETE', requested, { reviewers, team_reviewers })

/** A pull request of eve's to a repository of acme, from her fork. */
async function pullOfAcme(name: string, fields: object = {}): Promise<ReviewedPull> {
  await forge.ask(testUsers.bob, 'POST', '/orgs/acme/repos', { name, auto_init: true, ...fields })
  const path = `/repos/acme/${name}`
  await forge.ask(testUsers.bob, 'PUT', `${path}/collaborators/eve`, { permission: 'read' })
  const fork = await forge.fork(testUsers.eve, path)
  const head = await forge.change(testUsers.eve, fork.path, 'theirs')
  await forge.ask(testUsers.eve, 'POST', `${path}/pulls`, {
    head: 'eve:theirs',
    base: 'main',
    title: 'A change',
  })
  const pull = `${path}/pulls/1`
  return {
    name,
    path,
    pull,
    reviews: `${pull}/reviews`,
    requested: `${pull}/requested_reviewers`,
    head,
  }
}

async function officialRequests({ path, name }: ReviewedPull) {
  const { db } = server.app
  const { id } = await forge.ask(testUsers.bob, 'GET', path)
  const pull = await findPullRequest(db, id, 1)
  if (!pull) return expect.fail(`${name} has no pull request`)
  return (await countApprovals(server.app, await homeOf(db, pull), pull, await findRule(db, pull)))
    .officialRequests
}

describe('a request for a review', () => {
  it('is created by the poster and by writers, and is visible in the pull request', async () => {
    const pull = await forge.pull('asked')
    const made = await askFor(testUsers.carol, pull, ['EVE', 'eve', 'bob'])
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject([
      {
        state: 'REQUEST_REVIEW',
        user: { login: 'eve' },
        team: null,
        official: false,
        commit_id: pull.head,
      },
      { state: 'REQUEST_REVIEW', user: { login: 'bob' }, team: null, official: true },
    ])
    const again = await askFor(testUsers.bob, pull, ['eve'])
    expect([again.status, again.body[0].id]).toEqual([201, made.body[0].id])
    expect(await forge.seen(undefined, pull)).toEqual(['REQUEST_REVIEW eve', 'REQUEST_REVIEW bob'])
    const shown = await forge.ask(testUsers.eve, 'GET', pull.pull)
    expect(shown.requested_reviewers.map(({ login }: { login: string }) => login)).toEqual([
      'eve',
      'bob',
    ])
    expect(await officialRequests(pull)).toBe(1)
  })

  it('is answered by a review, and suspends the earlier vote', async () => {
    const pull = await forge.pull('answered')
    await forge.review(testUsers.bob, pull, 'APPROVED')
    await askFor(testUsers.carol, pull, ['bob'])
    expect(await forge.ask(testUsers.eve, 'GET', pull.reviews)).toMatchObject([
      { state: 'APPROVED', official: false },
      { state: 'REQUEST_REVIEW', official: true },
    ])
    // What nobody sees is no answer.
    const begun = await forge.review(testUsers.bob, pull, 'PENDING')
    expect(await officialRequests(pull)).toBe(1)
    await forge.ask(testUsers.bob, 'POST', `${pull.reviews}/${begun.id}`, { event: 'COMMENT' })
    expect(await forge.seen(testUsers.eve, pull)).toEqual(['APPROVED bob', 'COMMENT bob'])
    expect(await officialRequests(pull)).toBe(0)
  })

  it('is withdrawn by those who may request, and by the reviewer', async () => {
    const pull = await forge.pull('withdrawn')
    await askFor(testUsers.carol, pull, ['eve', 'bob', 'ada'])
    expect((await withdraw(testUsers.eve, pull, ['eve', 'bob'])).status).toBe(403)
    expect((await withdraw(testUsers.eve, pull, ['eve'])).status).toBe(204)
    expect((await withdraw(testUsers.carol, pull, ['bob', 'eve'])).status).toBe(204)
    expect(await forge.seen(testUsers.eve, pull)).toEqual(['REQUEST_REVIEW ada'])
    // Where there is nothing to take back, nothing has changed.
    const events = async () =>
      (await server.app.db.selectFrom('repository_events').select('id').execute()).length
    const before = await events()
    for (const reviewers of [[], ['eve']])
      expect((await withdraw(testUsers.eve, pull, reviewers)).status).toBe(204)
    expect((await askFor(testUsers.carol, pull, [])).body).toEqual([])
    expect(await events()).toBe(before)
  })

  it('lets the earlier vote count again when it is withdrawn', async () => {
    const pull = await forge.pull('insisted')
    const votes = async () => {
      const listed: { state: string; official: boolean }[] = await forge.ask(
        testUsers.eve,
        'GET',
        pull.reviews,
      )
      return listed.map(({ state, official }) => `${state} ${official}`)
    }
    await forge.review(testUsers.bob, pull, 'APPROVED')
    await forge.review(testUsers.bob, pull, 'REQUEST_CHANGES')
    await askFor(testUsers.carol, pull, ['bob'])
    expect(await votes()).toEqual([
      'APPROVED false',
      'REQUEST_CHANGES false',
      'REQUEST_REVIEW true',
    ])
    await withdraw(testUsers.carol, pull, ['bob'])
    expect(await votes()).toEqual(['APPROVED false', 'REQUEST_CHANGES true'])
    // So it does when who is asked deletes the request.
    const [request] = (await askFor(testUsers.carol, pull, ['bob'])).body
    expect(
      (await forge.rest(testUsers.bob, 'DELETE', `${pull.reviews}/${request.id}`)).status,
    ).toBe(204)
    expect(await votes()).toEqual(['APPROVED false', 'REQUEST_CHANGES true'])
  })

  type Case = [
    title: string,
    who: keyof PullTestUsers,
    users: string[],
    teams: string[],
    status: number,
    reason: string,
    text: string,
  ]
  const DENIED = 'only the author and users with write access to pull requests may request reviews'
  let refused: Promise<ReviewedPull> | undefined
  it.each<Case>([
    ['to nobody', 'bob', ['nobody'], [], 404, 'REVIEWER_NOT_FOUND', "user doesn't exist: nobody"],
    [
      'to an organisation',
      'bob',
      ['acme'],
      [],
      404,
      'REVIEWER_NOT_FOUND',
      "user doesn't exist: acme",
    ],
    [
      'to a team of nobody’s',
      'bob',
      [],
      ['Crew'],
      404,
      'REVIEWER_NOT_FOUND',
      "team doesn't exist: Crew",
    ],
    [
      'to who opened it',
      'bob',
      ['carol'],
      [],
      422,
      'INVALID_REVIEWER',
      'carol cannot be a reviewer',
    ],
    [
      'to an archived account',
      'bob',
      ['dan'],
      [],
      422,
      'INVALID_REVIEWER',
      'dan cannot be a reviewer',
    ],
    ['by a stranger', 'eve', ['bob'], [], 403, 'REVIEW_REQUEST_DENIED', DENIED],
    [
      'to too many',
      'bob',
      Array.from({ length: 101 }, (_, i) => `u${i}`),
      [],
      422,
      'TOO_MANY_REVIEWERS',
      'a pull request can have at most 100 requested reviewers',
    ],
  ])('is refused %s', async (_, who, users, teams, status, reason, text) => {
    refused ??= forge.pull('refused')
    const pull = await refused
    const answer = await askFor(testUsers[who], pull, users, teams)
    expect([answer.status, answer.body.message]).toEqual([status, text])
    const key = { owner: 'bob', repo: pull.name, index: 1n }
    const made = forge
      .reviewsAs(testUsers[who])
      .requestReviewers({ ...key, reviewers: users, teamReviewers: teams })
    expect(await refusalOf(made)).toMatchObject({ reason, text })
    expect(await forge.seen(testUsers.bob, pull)).toEqual([])
  })

  it('is refused for closed pull requests, from callers who may not read, and for users who blocked the caller', async () => {
    const pull = await forge.pull('shut', { private: true })
    expect((await askFor(testUsers.bob, pull, ['eve'])).body.message).toBe(
      'eve cannot be a reviewer',
    )
    // Of who hides, not even that there is such an account.
    await forge.ask(testUsers.ada, 'PATCH', '/admin/users/eve', {
      visibility: 'private',
      login_name: 'eve',
      source_id: 0,
    })
    expect((await askFor(testUsers.bob, pull, ['eve'])).status).toBe(404)
    await forge.ask(testUsers.ada, 'PATCH', '/admin/users/eve', {
      visibility: 'public',
      login_name: 'eve',
      source_id: 0,
    })
    const open = await forge.pull('unwanted')
    await forge.ask(testUsers.bob, 'PUT', '/user/blocks/carol', {})
    const blocked = await askFor(testUsers.carol, open, ['ada'])
    expect([blocked.status, blocked.body.message]).toEqual([403, 'user is blocked'])
    await forge.ask(testUsers.bob, 'DELETE', '/user/blocks/carol')
    await forge.ask(testUsers.bob, 'PATCH', pull.pull, { state: 'closed' })
    for (const answer of [
      await askFor(testUsers.bob, pull, ['ada']),
      await withdraw(testUsers.bob, pull, ['ada']),
    ]) {
      expect([answer.status, answer.body.message]).toEqual([
        403,
        "can't request a review for a closed or merged PR",
      ])
    }
  })
})

describe('a request to a team', () => {
  it('is answered by any of its members', async () => {
    const pull = await pullOfAcme('teamwork')
    const made = await askFor(testUsers.bob, pull, [], ['crew', 'owners'])
    expect(made.body).toMatchObject([
      { user: null, team: { name: 'Crew', organization: { name: 'acme' } }, official: true },
      { user: null, team: { name: 'Owners' }, official: true },
    ])
    const shown = await forge.ask(testUsers.eve, 'GET', pull.pull)
    expect(shown.requested_reviewers_teams).toMatchObject([{ name: 'Crew' }])
    expect(await officialRequests(pull)).toBe(2)
    await forge.review(testUsers.carol, pull, 'APPROVED')
    expect(await forge.seen(testUsers.bob, pull)).toEqual([
      'REQUEST_REVIEW Owners',
      'APPROVED carol',
    ])
    expect((await withdraw(testUsers.bob, pull, [], ['Owners', 'Crew'])).status).toBe(204)
    expect(await forge.seen(testUsers.bob, pull)).toEqual(['APPROVED carol'])
  })

  it('is hidden, with the name of the team, from callers who may not see the team', async () => {
    const pull = await pullOfAcme('haunted')
    const unknown = await askFor(testUsers.eve, pull, [], ['Nobody'])
    const hidden = await askFor(testUsers.eve, pull, [], ['Ghosts'])
    expect([hidden.status, hidden.body.message]).toEqual([
      404,
      unknown.body.message.replace('Nobody', 'Ghosts'),
    ])
    expect((await withdraw(testUsers.eve, pull, [], ['Ghosts'])).status).toBe(404)
    const [{ id }] = (await askFor(testUsers.bob, pull, [], ['Ghosts'])).body
    for (const who of [testUsers.eve, testUsers.carol, undefined]) {
      const listed = await forge.rest(who, 'GET', pull.reviews)
      expect([listed.body, listed.headers.get('x-total-count')]).toEqual([[], '0'])
      expect((await forge.rest(who, 'GET', `${pull.reviews}/${id}`)).status).toBe(404)
      expect(
        (await forge.ask(who ?? testUsers.eve, 'GET', pull.pull)).requested_reviewers_teams,
      ).toEqual([])
    }
    for (const who of [testUsers.bob, testUsers.ada])
      expect(await forge.seen(who, pull)).toEqual(['REQUEST_REVIEW Ghosts'])
  })

  it('is refused for a team that may not read, and for one of another owner', async () => {
    await forge.ask(testUsers.bob, 'POST', '/orgs/acme/teams', {
      name: 'Blind',
      units_map: { 'repo.code': 'read' },
      visibility: 'public',
    })
    const pull = await pullOfAcme('blinded', { private: true })
    expect((await askFor(testUsers.bob, pull, [], ['Blind'])).body.message).toBe(
      'Blind cannot be a reviewer',
    )
    expect((await askFor(testUsers.bob, pull, [], ['Crew'])).status).toBe(201)
  })
})

describe('code owners', () => {
  const owners = String.raw`
# Whoever knows
src/.*\\.ts  @bob @carol @nobody
(theirs|topic)\\.txt  eve  @acme/ghosts @acme/none
!.*\\.md  @ada
.*\\.md  @dan
`
  const own = (path: string, place: string, text = owners) =>
    forge.ask(testUsers.bob, 'POST', `${path}/contents/${place}`, {
      content: Buffer.from(text).toString('base64'),
    })

  /** A pull request of carol's, who does not own what she changes. */
  async function opened(name: string, place: string, title = 'A change') {
    await forge.ask(testUsers.bob, 'POST', '/orgs/acme/repos', { name, auto_init: true })
    const path = `/repos/acme/${name}`
    await own(path, place)
    await forge.change(testUsers.carol, path, 'topic')
    await forge.change(testUsers.carol, path, 'topic', 'main', 'src/a/b.ts')
    const pull = `${path}/pulls/1`
    await forge.ask(testUsers.carol, 'POST', `${path}/pulls`, {
      head: 'topic',
      base: 'main',
      title,
    })
    return {
      name,
      path,
      pull,
      reviews: `${pull}/reviews`,
      requested: `${pull}/requested_reviewers`,
      head: '',
    }
  }

  it.each(['CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS'])(
    'are asked, as %s says',
    async (place) => {
      const pull = await opened(`owned-${place.length}`, place)
      const seen = await forge.seen(testUsers.bob, pull)
      expect(seen.sort()).toEqual([
        'REQUEST_REVIEW Ghosts',
        'REQUEST_REVIEW ada',
        'REQUEST_REVIEW bob',
        'REQUEST_REVIEW eve',
      ])
      // Nor does a file of theirs tell who is in hiding.
      expect(await forge.seen(testUsers.eve, pull)).not.toContain('REQUEST_REVIEW Ghosts')
    },
  )

  it('are requested once work in progress is finished, except those who have reviewed', async () => {
    const pull = await opened('progress', 'CODEOWNERS', 'WIP: a change')
    expect(await forge.seen(testUsers.bob, pull)).toEqual([])
    await forge.review(testUsers.bob, pull, 'COMMENT')
    await forge.review(testUsers.ada, pull, 'COMMENT')
    await forge.ask(testUsers.carol, 'PATCH', pull.pull, { title: 'A change' })
    expect(await forge.seen(testUsers.bob, pull)).toEqual([
      'COMMENT bob',
      'COMMENT ada',
      'REQUEST_REVIEW eve',
    ])
  })

  it('are requested however the pull request becomes ready, whatever the poster says', async () => {
    const path = '/repos/acme/detours'
    await forge.ask(testUsers.bob, 'POST', '/orgs/acme/repos', { name: 'detours', auto_init: true })
    await forge.ask(testUsers.bob, 'POST', `${path}/branches`, { new_branch_name: 'lax' })
    await own(path, 'CODEOWNERS', '.* @acme/crew @bob')
    const asked = ['REQUEST_REVIEW bob', 'REQUEST_REVIEW Crew']
    const detours: [title: string, base: string, ...edits: object[]][] = [
      ['Elsewhere', 'lax', { base: 'main' }],
      ['WIP: closed', 'main', { state: 'closed' }, { title: 'Closed' }, { state: 'open' }],
      ['WIP: seen', 'main', { title: 'Seen' }],
    ]
    for (const [i, [title, base, ...edits]] of detours.entries()) {
      const pull = `${path}/pulls/${i + 1}`
      await forge.change(testUsers.carol, path, `topic${i}`)
      await forge.ask(testUsers.carol, 'POST', `${path}/pulls`, { head: `topic${i}`, base, title })
      // Carol is one of the crew.
      await forge.ask(testUsers.carol, 'POST', `${pull}/reviews`, {
        event: 'COMMENT',
        body: 'Fine by me.',
      })
      for (const edit of edits) await forge.ask(testUsers.carol, 'PATCH', pull, edit)
      await forge.ask(testUsers.carol, 'POST', `${pull}/reviews`, {
        event: 'COMMENT',
        body: 'Still is.',
      })
      const seen = await forge.seen(testUsers.bob, {
        name: '',
        path,
        pull,
        reviews: `${pull}/reviews`,
        requested: '',
        head: '',
      })
      expect([title, ...seen]).toEqual([title, 'COMMENT carol', ...asked, 'COMMENT carol'])
    }
  })
})
