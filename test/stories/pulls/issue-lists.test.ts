import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { searchIssues } from '../../../src/forge/issues/issue-lists.ts'
import { ANYBODY } from '../../support/forge-rows.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { countQueries } from '../../support/query-plan.ts'
import { type Actor, startTestServer, type TestServer, transportTo } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
/** Paths of the repositories. */
const PATH = '/repos/bob/garden'
let repositoryId: number

/** Opens a pull request from a new branch, and returns its number. */
async function open(who: Actor, path: string, title: string, fields: object = {}): Promise<number> {
  const branch = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  await forge.change(users.bob, path, branch)
  const pull = await forge.ask(who, 'POST', `${path}/pulls`, {
    title,
    base: 'main',
    head: branch,
    ...fields,
  })
  return pull.number
}

/** Returns the titles of a list and its total. */
async function listed(who: Actor | undefined, path: string) {
  const { status, body, headers } = await forge.rest(who, 'GET', path)
  expect(status, body.message).toBe(200)
  const titles = body.map(({ title }: { title: string }) => title)
  expect(headers.get('x-total-count')).toBe(String(titles.length))
  return titles
}

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  repositoryId = (await forge.repository(users.bob, 'garden')).id
  const { ask } = forge
  await ask(users.bob, 'PUT', `${PATH}/collaborators/carol`, { permission: 'write' })
  const label = await ask(users.bob, 'POST', `${PATH}/labels`, { name: 'bug', color: 'abc' })
  const milestone = await ask(users.bob, 'POST', `${PATH}/milestones`, { title: 'Spring' })
  await open(users.bob, PATH, 'Beds', { labels: [label.id], body: 'Thanks to @Carol.' })
  await open(users.bob, PATH, 'Paths', { milestone: milestone.id, assignees: ['carol'] })
  await open(users.carol, PATH, 'Gate', { body: 'For @carolina and a@carol' })
  const gone = await open(users.carol, PATH, 'Pond')
  await ask(users.bob, 'PATCH', `${PATH}/issues/${gone}`, { state: 'closed' })
  await ask(users.bob, 'POST', `${PATH}/issues/${gone}/comments`, { body: 'Too wet, @eve' })
})
afterAll(() => server.stop())

describe('pull requests of a repository, for clients that look for issues', () => {
  it.each([
    ['', ['Gate', 'Paths', 'Beds']],
    ['?type=pulls', ['Gate', 'Paths', 'Beds']],
    ['?type=issues', []],
    ['?type=pulls&state=closed', ['Pond']],
    ['?state=all', ['Pond', 'Gate', 'Paths', 'Beds']],
    ['?state=everything', ['Gate', 'Paths', 'Beds']],
    ['?labels=bug', ['Beds']],
    ['?labels=none,%20bug', ['Beds']],
    ['?labels=none', []],
    ['?labels=', ['Gate', 'Paths', 'Beds']],
    ['?milestones=Spring', ['Paths']],
    ['?milestones=1,Autumn', ['Paths']],
    ['?milestones=Autumn', []],
    ['?created_by=carol', ['Gate']],
    ['?created_by=Carol&state=all', ['Pond', 'Gate']],
    ['?assigned_by=carol', ['Paths']],
    // Neither a longer name nor an e-mail address.
    ['?mentioned_by=carol', ['Beds']],
    ['?mentioned_by=eve&state=all', ['Pond']],
    ['?q=BED', ['Beds']],
    ['?q=too+wet&state=closed', ['Pond']],
    ['?q=100%25', []],
    ['?since=2000-01-01T00:00:00Z&before=2100-01-01T00:00:00Z', ['Gate', 'Paths', 'Beds']],
    ['?since=2100-01-01T00:00:00Z', []],
    ['?before=2000-01-01T00:00:00Z', []],
  ])('"%s" has %j', async (query, titles) => {
    expect(await listed(undefined, `${PATH}/issues${query}`)).toEqual(titles)
  })

  it('have pages and the form of issues', async () => {
    const page = await forge.rest(undefined, 'GET', `${PATH}/issues?limit=1&page=2`)
    expect(page.body).toMatchObject([
      {
        number: 2,
        title: 'Paths',
        user: { login: 'bob' },
        milestone: { title: 'Spring' },
        assignees: [{ login: 'carol' }],
        pull_request: { merged: false },
        repository: { full_name: 'bob/garden' },
      },
    ])
    expect(page.headers.get('x-total-count')).toBe('3')
    expect(page.headers.get('link')).toContain('rel="next"')
  })

  it('are refused with unknown users, malformed times and too many names', async () => {
    const statusOf = async (query: string) =>
      (await forge.rest(undefined, 'GET', `${PATH}/issues?${query}`)).status
    expect(await statusOf('created_by=nobody')).toBe(404)
    expect(await statusOf('mentioned_by=nobody')).toBe(404)
    expect(await statusOf('since=yesterday')).toBeGreaterThanOrEqual(400)
    expect(await statusOf('since=yesterday')).toBeLessThan(500)
    const many = Array.from({ length: 101 }, (_, i) => `l${i}`).join(',')
    expect(await statusOf(`labels=${many}`)).toBe(422)
  })

  it('of a private repository are hidden', async () => {
    await forge.repository(users.bob, 'shed', { private: true })
    expect((await forge.rest(users.carol, 'GET', '/repos/bob/shed/issues')).status).toBe(404)
    expect(await listed(users.bob, '/repos/bob/shed/issues')).toEqual([])
  })
})

describe('a search for issues', () => {
  it('finds pull requests of all repositories that the caller may read', async () => {
    await forge.repository(users.bob, 'attic', { private: true })
    await open(users.bob, '/repos/bob/attic', 'Boxes', { body: '@bob' })
    await forge.repository(users.carol, 'yard')
    await forge.ask(users.carol, 'PUT', '/repos/carol/yard/collaborators/bob', {
      permission: 'write',
    })
    await open(users.bob, '/repos/carol/yard', 'Bench')
    const search = (who: Actor | undefined, query = '') =>
      listed(who, `/repos/issues/search?type=pulls${query}`)
    expect(await search(undefined)).toEqual(['Bench', 'Gate', 'Paths', 'Beds'])
    expect(await search(users.bob)).toEqual(['Bench', 'Boxes', 'Gate', 'Paths', 'Beds'])
    expect(await search(users.eve, '&q=box')).toEqual([])
    expect(await search(users.bob, '&created=true')).toEqual(['Bench', 'Boxes', 'Paths', 'Beds'])
    expect(await search(users.carol, '&assigned=true')).toEqual(['Paths'])
    expect(await search(users.carol, '&mentioned=true')).toEqual(['Beds'])
    expect(await search(undefined, '&created=true')).toEqual([])
    expect(await search(users.bob, '&owner=carol')).toEqual(['Bench'])
    expect(await search(users.bob, '&created_by=carol&state=all')).toEqual(['Pond', 'Gate'])
    expect(await search(users.bob, '&labels=bug&milestones=Spring')).toEqual([])
    expect(await search(users.bob, `&priority_repo_id=${repositoryId}`)).toEqual([
      'Gate',
      'Paths',
      'Beds',
      'Bench',
      'Boxes',
    ])
    expect(await listed(users.bob, '/repos/issues/search?type=issues')).toEqual([])
    const nobody = await forge.rest(users.bob, 'GET', '/repos/issues/search?owner=nobody')
    expect([nobody.status, nobody.body.message, nobody.headers.get('x-error-reason')]).toEqual([
      400,
      'user does not exist [uid: 0, name: nobody]',
      'FILTER_OWNER_UNKNOWN',
    ])
  })

  it('finds what the caller is asked to review and has reviewed', async () => {
    const request = { reviewers: ['carol'] }
    await forge.ask(users.bob, 'POST', `${PATH}/pulls/1/requested_reviewers`, request)
    const search = (flag: string) => listed(users.carol, `/repos/issues/search?${flag}=true`)
    expect(await search('review_requested')).toEqual(['Beds'])
    expect(await search('reviewed')).toEqual([])
    await forge.ask(users.carol, 'POST', `${PATH}/pulls/1/reviews`, { event: 'APPROVED' })
    expect(await search('reviewed')).toEqual(['Beds'])
    expect(await search('review_requested')).toEqual([])
  })

  it('takes as many queries for many repositories as for one', async () => {
    const query = {
      state: '',
      type: 'pulls',
      labels: '',
      milestones: '',
      q: '',
      since: undefined,
      before: undefined,
      createdBy: '',
      sort: '',
      query: '',
      view: 0,
      facets: '',
      pullStates: true,
      owner: '',
      team: '',
      priorityRepoId: 0,
      assigned: false,
      created: false,
      mentioned: false,
      reviewRequested: false,
      reviewed: false,
    }
    const taken: number[] = []
    for (const page of [
      { offset: 1, limit: 3 },
      { offset: 0, limit: 4 },
    ])
      taken.push(
        await countQueries(server.app.db, (db) =>
          searchIssues({ ...server.app, db }, ANYBODY, query, page),
        ),
      )
    expect(taken[1]).toBe(taken[0])
  })

  it('is served by every protocol', async () => {
    const { issues, total } = await createClient(
      IssueService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    ).searchIssues({ q: 'gate' })
    expect([issues.map(({ title }) => title), total]).toEqual([['Gate'], 1n])
  })
})
