import { fromJson, type JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CreatePullRequestRequestSchema } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { accountHolder } from '../../../src/platform/concurrency/holders.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { tokenOf } from '../../support/callers.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'
import { takeAll } from '../../support/slots.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient
/** Unix milliseconds; the server's clock. */
const now = Date.UTC(2026, 4, 1, 10)

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  await server.stop()
  await client.remove()
})

const refsOf = (path: string) =>
  client.git('.', 'ls-remote', remoteOf(server.url, path.slice('/repos/'.length)))

/** Bob's repository that eve has forked, each with a branch of its own. */
async function forked(name: string, fields: object = {}) {
  const base = await forge.repository(users.bob, name, fields)
  const own = await forge.change(users.bob, base.path, 'own')
  const fork = await forge.fork(users.eve, base.path)
  const theirs = await forge.change(users.eve, fork.path, 'theirs')
  return { ...base, fork, own, theirs }
}

describe('a new pull request', () => {
  it('has the requested fields, and its commits in the base repository under its ref', async () => {
    const { path, pulls, fork, theirs } = await forked('whole')
    const bug = await forge.ask(users.bob, 'POST', `${path}/labels`, {
      name: 'bug',
      color: '#ff0000',
    })
    const milestone = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    const made = await forge.rest(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'main',
      title: ' Mend\0\nit ',
      body: '*Finally.*',
      assignee: 'bob',
      assignees: ['eve', 'Bob'],
      milestone: milestone.id,
      labels: [bug.id, 999_999],
      due_date: '2026-06-01T08:00:00+02:00',
      reviewers: ['carol'],
      allow_maintainer_edit: true,
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      number: 1,
      state: 'open',
      title: 'Mend it',
      body: '*Finally.*',
      user: { login: 'eve' },
      labels: [{ name: 'bug' }],
      milestone: { id: milestone.id, open_issues: 1 },
      assignees: [{ login: 'bob' }, { login: 'eve' }],
      requested_reviewers: [{ login: 'carol' }],
      due_date: '2026-06-01T06:00:00Z',
      allow_maintainer_edit: true,
      content_version: 0,
      base: { label: 'main', ref: 'main' },
      head: { label: 'theirs', ref: 'theirs', sha: theirs, repo_id: fork.id },
      created_at: new Date(now).toISOString().replace('.000', ''),
      closed_at: null,
    })
    expect(made.body.merge_base).toBe(
      (await forge.ask(users.bob, 'GET', `${path}/branches/main`)).commit.id,
    )
    // Also of nobody's branch the commit is there for whoever fetches.
    expect(await refsOf(path)).toContain(`${theirs}\trefs/pull/1/head`)
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/whole'), 'whole')
    await client.git('whole', 'fetch', '-q', 'origin', 'refs/pull/1/head')
    expect(await client.git('whole', 'rev-parse', 'FETCH_HEAD')).toBe(theirs)
    expect((await forge.ask(users.eve, 'GET', `${pulls}/1`)).head.sha).toBe(theirs)
    // A fork takes none of that with it.
    expect(await refsOf(fork.path)).not.toContain('refs/pull')
  })

  it('is the same over gRPC, with defaults for missing fields', async () => {
    const { path, pulls, own } = await forked('usual')
    await forge.ask(users.bob, 'PATCH', path, { default_allow_maintainer_edit: true })
    const made = await forge
      .grpcAs(users.bob)
      .createPullRequest({ owner: 'bob', repo: 'usual', head: 'own', base: 'main' })
    expect(made).toMatchObject({
      number: 1n,
      title: 'Add own.txt',
      body: '',
      allowMaintainerEdit: true,
      labels: [],
    })
    expect(made.head?.sha).toBe(own)
    expect(await forge.ask(users.bob, 'GET', `${pulls}/1`)).toMatchObject({
      due_date: null,
      milestone: null,
    })
    // Numbers go on from there, whatever becomes of the pull requests.
    await forge.change(users.bob, path, 'second')
    const next = await forge.ask(users.bob, 'POST', pulls, {
      head: 'second',
      base: 'main',
      title: 'x',
    })
    expect(next.number).toBe(2)
    expect((await forge.ask(users.bob, 'GET', path)).open_pr_counter).toBe(2)
  })

  it('has the last label of each scope, and no label of a hidden organisation', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'veiled', visibility: 'private' })
    const { id } = await forge.ask(users.bob, 'POST', '/orgs/veiled/repos', {
      name: 'scopes',
      auto_init: true,
    })
    await forge.ask(users.bob, 'PUT', '/repos/veiled/scopes/collaborators/carol', {
      permission: 'write',
    })
    const label = async (path: string, name: string, exclusive = true) =>
      (await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: '#00ff00', exclusive }))
        .id
    const repository = '/repos/veiled/scopes'
    const low = await label(repository, 'level/low')
    const high = await label(repository, 'level/high')
    const plain = await label(repository, 'level/plain', false)
    const shared = await label('/orgs/veiled', 'shared', false)
    const named = async (who: Actor, branch: string, labels: number[]) => {
      await forge.change(users.bob, repository, branch)
      const { number } = await forge.ask(who, 'POST', `${repository}/pulls`, {
        head: branch,
        base: 'main',
        labels,
      })
      const made = await forge.ask(users.bob, 'GET', `${repository}/pulls/${number}`)
      return made.labels.map(({ name }: { name: string }) => name)
    }
    expect(id).toBeGreaterThan(0)
    expect(await named(users.bob, 'one', [low, plain, high, shared])).toEqual([
      'level/high',
      'level/plain',
      'shared',
    ])
    expect(await named(users.bob, 'two', [high, low, high])).toEqual(['level/high'])
    expect(await named(users.carol, 'three', [shared, low])).toEqual(['level/low'])
  })

  it('may go from a fork to a fork or to a parent, with three spellings of its head', async () => {
    const { path, pulls, fork } = await forked('spelled')
    await forge.change(users.eve, fork.path, 'a/b')
    const heads = ['eve:theirs', 'EVE/spelled:a/b', 'bob:own', 'bob/spelled:main']
    const bases = ['main', 'main', 'main', 'own']
    for (const [i, head] of heads.entries()) {
      const who = head.toLowerCase().startsWith('eve') ? users.eve : users.bob
      const made = await forge.rest(who, 'POST', pulls, { head, base: bases[i], title: head })
      expect([made.status, made.body.head?.ref]).toEqual([201, head.split(':')[1]])
    }
    // From the parent to its fork, and between forks.
    const sibling = await forge.fork(users.carol, path)
    await forge.change(users.carol, sibling.path, 'sib')
    const down = await forge.rest(users.eve, 'POST', `${fork.path}/pulls`, {
      head: 'bob:own',
      base: 'main',
      title: 'd',
    })
    expect([down.status, down.body.head?.repo.full_name]).toEqual([201, 'bob/spelled'])
    const across = { head: 'carol/spelled:sib', base: 'main', title: 'across' }
    const aside = await forge.rest(users.carol, 'POST', `${fork.path}/pulls`, across)
    expect([aside.status, aside.body.head?.repo.full_name]).toEqual([201, 'carol/spelled'])
  })
})

describe('a pull request from a private fork', () => {
  it('shows what it proposes, and nothing else of the fork', async () => {
    const { pulls, path, fork, theirs } = await forked('veiled-fork')
    await forge.ask(users.eve, 'PATCH', fork.path, { private: true })
    const made = await forge.ask(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'main',
      title: 'x',
    })
    expect(made.head).toMatchObject({ label: 'theirs', repo: { private: true } })
    const seen = await forge.ask(users.bob, 'GET', `${pulls}/1`)
    expect(seen.head).toMatchObject({
      repo: null,
      repo_id: -1,
      sha: theirs,
      ref: 'refs/pull/1/head',
    })
    expect(await refsOf(path)).toContain(`${theirs}\trefs/pull/1/head`)
    // There is no fork to ask about, or to open another one from.
    const again = { head: 'eve:theirs', base: 'own', title: 'y' }
    expect((await forge.rest(users.bob, 'POST', pulls, again)).status).toBe(404)
  })
})

describe('creation is refused for', () => {
  type Case = [
    name: string,
    who: keyof PullTestUsers,
    body: JsonObject,
    status: number,
    reason: string,
    text: RegExp | string,
  ]
  const missing = 'not found'
  it.each<Case>([
    [
      'a branch to itself',
      'bob',
      { head: 'main' },
      422,
      'PULL_REQUEST_WITHOUT_CHANGES',
      /^Invalid PullRequest: There are no/,
    ],
    [
      'the same in more words',
      'bob',
      { head: 'bob:main' },
      422,
      'PULL_REQUEST_WITHOUT_CHANGES',
      /no changes/,
    ],
    ['nothing', 'bob', { head: '' }, 422, 'INVALID_FIELD', '[Head]: Required'],
    ['to nowhere', 'bob', { base: '' }, 422, 'INVALID_FIELD', '[Base]: Required'],
    [
      'a range',
      'bob',
      { head: 'main...own' },
      400,
      'INVALID_COMPARISON',
      'invalid compare argument: main...own',
    ],
    [
      'too many colons',
      'bob',
      { head: 'a:b:own' },
      400,
      'INVALID_COMPARISON',
      /^invalid compare argument/,
    ],
    [
      'nobody and a branch',
      'bob',
      { head: ':own' },
      400,
      'INVALID_COMPARISON',
      /^invalid compare argument/,
    ],
    [
      'somebody without a branch',
      'bob',
      { head: 'eve:' },
      400,
      'INVALID_COMPARISON',
      /^invalid compare argument/,
    ],
    ['a branch that is not there', 'bob', { head: 'nothere' }, 404, 'REF_NOT_FOUND', missing],
    ['what is no name', 'bob', { head: 'no name' }, 404, 'REF_NOT_FOUND', missing],
    ['to a branch that is not there', 'bob', { base: 'nothere' }, 404, 'REF_NOT_FOUND', missing],
    ['of nobody', 'bob', { head: 'nobody:own' }, 404, 'REF_NOT_FOUND', missing],
    ['of one without a fork', 'bob', { head: 'carol:own' }, 404, 'REF_NOT_FOUND', missing],
    [
      'of a repository that is not there',
      'bob',
      { head: 'eve/none:own' },
      404,
      'REF_NOT_FOUND',
      missing,
    ],
    [
      'of an unrelated repository',
      'eve',
      { head: 'eve/apart:side' },
      404,
      'REF_NOT_FOUND',
      missing,
    ],
    ['of a fork that hides', 'bob', { head: 'eve/refused:hidden' }, 404, 'REF_NOT_FOUND', missing],
    [
      'a tag',
      'bob',
      { head: 'v1' },
      422,
      'PULL_REQUEST_NOT_OF_BRANCHES',
      'Invalid PullRequest: base and head must be branches',
    ],
    ['to a tag', 'bob', { base: 'v1' }, 422, 'PULL_REQUEST_NOT_OF_BRANCHES', /must be branches$/],
    [
      'a ref in full',
      'bob',
      { head: 'refs/heads/own' },
      422,
      'PULL_REQUEST_NOT_OF_BRANCHES',
      /must be branches$/,
    ],
    [
      'for a milestone that is not there',
      'bob',
      { milestone: 77 },
      404,
      'MILESTONE_NOT_FOUND',
      missing,
    ],
    [
      'for nobody',
      'bob',
      { assignees: ['nobody'] },
      422,
      'ASSIGNEE_NOT_FOUND',
      'Assignee does not exist: [name: user does not exist [uid: 0, name: nobody]]',
    ],
    [
      'for an organisation',
      'bob',
      { assignee: 'crowd' },
      422,
      'ASSIGNEE_NOT_FOUND',
      /name: crowd\]\]$/,
    ],
    [
      'for who is archived',
      'bob',
      { assignee: 'dan' },
      422,
      'ASSIGNEE_NOT_ASSIGNABLE',
      /^user doesn't have access to repo \[user_id: \d+, repo_name: refused\]$/,
    ],
    ['for who is blocked', 'bob', { assignee: 'carol' }, 403, 'USER_BLOCKED', 'user is blocked'],
    ['by who is blocked', 'carol', {}, 403, 'USER_BLOCKED', 'user is blocked'],
    ['by a stranger', 'eve', {}, 403, 'COLLABORATION_REQUIRED', 'user must be a collaborator'],
    [
      'with a reviewer that is not there',
      'bob',
      { reviewers: ['no'] },
      404,
      'REVIEWER_NOT_FOUND',
      "user doesn't exist: no",
    ],
    [
      'with a team that is not there',
      'bob',
      { team_reviewers: ['no'] },
      404,
      'REVIEWER_NOT_FOUND',
      "team doesn't exist: no",
    ],
  ])('%s', async (_, who, body, status, reason, text) => {
    refused ??= prepare()
    const { pulls } = await refused
    const asked = { head: 'own', base: 'main', title: 'A change', ...body }
    const answer = await forge.rest(users[who], 'POST', pulls, asked)
    const expected = typeof text === 'string' ? text : expect.stringMatching(text)
    expect([answer.status, answer.body.message]).toEqual([status, expected])
    const request = fromJson(CreatePullRequestRequestSchema, {
      owner: 'bob',
      repo: 'refused',
      ...asked,
    })
    expect(await refusalOf(forge.grpcAs(users[who]).createPullRequest(request))).toMatchObject({
      reason,
    })
    // Nothing is left of it: no row, no number, no ref.
    expect((await forge.ask(users.bob, 'GET', `${pulls}?state=all`)).length).toBe(0)
    expect(await refsOf('/repos/bob/refused')).not.toContain('refs/pull')
  })

  let refused: ReturnType<typeof prepare> | undefined

  async function prepare() {
    const made = await forked('refused')
    await forge.repository(users.eve, 'apart')
    await forge.change(users.eve, '/repos/eve/apart', 'side')
    await forge.change(users.eve, made.fork.path, 'hidden')
    await forge.ask(users.eve, 'PATCH', made.fork.path, { private: true })
    await forge.ask(users.bob, 'POST', `${made.path}/tags`, { tag_name: 'v1', target: 'own' })
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'crowd' })
    await forge.ask(users.bob, 'PUT', '/user/blocks/carol')
    return made
  }

  it('an open pull request with the same branches, however many requests arrive at once', async () => {
    await forge.rest(users.bob, 'DELETE', '/user/blocks/carol')
    const { pulls, own, id } = await forked('twice')
    const body = { head: 'own', base: 'main', title: 'once' }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => forge.rest(users.bob, 'POST', pulls, body)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    const made = answers.find(({ status }) => status === 201)?.body
    expect(made.number).toBe(1)
    const second = await forge.rest(users.bob, 'POST', pulls, body)
    expect([second.status, second.body.message]).toEqual([
      409,
      `pull request already exists for these targets [id: ${made.id}, issue_id: ${made.id}, head_repo_id: ${id}, ` +
        `base_repo_id: ${id}, head_branch: own, base_branch: main]`,
    ])
    const request = { owner: 'bob', repo: 'twice', ...body }
    expect(await refusalOf(forge.grpcAs(users.bob).createPullRequest(request))).toMatchObject({
      code: 'AlreadyExists',
      reason: 'PULL_REQUEST_EXISTS',
    })
    await forge.ask(users.bob, 'PATCH', `${pulls}/1`, { state: 'closed' })
    const third = await forge.ask(users.bob, 'POST', pulls, body)
    expect([third.number, third.head.sha]).toEqual([2, own])
  })

  it('repositories that the caller may not see or write to, archived ones, and those without pull requests', async () => {
    const { path, pulls } = await forked('closed')
    const body = { head: 'own', base: 'main', title: 'x' }
    const statusOf = async (who: Actor) => (await forge.rest(who, 'POST', pulls, body)).status
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    const archived = await forge.rest(users.bob, 'POST', pulls, { ...body, head: '' })
    expect([archived.status, archived.body.message]).toEqual([423, 'repo is archived'])
    await forge.ask(users.bob, 'PATCH', path, { archived: false, has_pull_requests: false })
    expect(await statusOf(users.bob)).toBe(404)
    await forge.ask(users.bob, 'PATCH', path, { has_pull_requests: true, private: true })
    expect(await statusOf(users.carol)).toBe(404)
    // A token that sees public data only sees neither.
    expect(
      await statusOf(await tokenOf(server.url, users.bob, ['write:repository', 'public-only'])),
    ).toBe(404)
    expect(await statusOf(await tokenOf(server.url, users.bob, ['read:repository']))).toBe(403)
    expect((await forge.rest(undefined, 'POST', pulls, body)).status).toBe(401)
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    // Whoever belongs to it may propose something.
    expect(await statusOf(users.carol)).toBe(201)
  })

  it('a team whose members may not read the code', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'guild' })
    await forge.ask(users.bob, 'POST', '/orgs/guild/repos', {
      name: 'inner',
      auto_init: true,
      private: true,
    })
    await forge.change(users.bob, '/repos/guild/inner', 'own')
    const units_map = { 'repo.pulls': 'write' }
    const team = await forge.ask(users.bob, 'POST', '/orgs/guild/teams', {
      name: 'clerks',
      units_map,
      includes_all_repositories: true,
    })
    await forge.ask(users.bob, 'PUT', `/teams/${team.id}/members/carol`)
    const body = { head: 'own', base: 'main', title: 'x' }
    expect((await forge.rest(users.carol, 'POST', '/repos/guild/inner/pulls', body)).status).toBe(
      404,
    )
  })

  it('a caller who loses access while the commits are fetched', async () => {
    const { path, pulls } = await forked('lost')
    const { transfers } = server.app.git
    const eve = await forge.ask(users.eve, 'GET', '/user')
    const places = takeAll(transfers, accountHolder(eve.id))
    const entering = vi.spyOn(transfers, 'acquire')
    const asked = forge.rest(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'main',
      title: 'x',
    })
    await expect.poll(() => entering.mock.calls.length).toBe(1)
    entering.mockRestore()
    await forge.ask(users.bob, 'PATCH', path, { private: true })
    for (const release of places) release()
    const { status, body } = await asked
    const text = /^user doesn't have access to repo \[user_id: \d+, repo_name: lost\]$/
    expect([status, body.message]).toEqual([400, expect.stringMatching(text)])
    expect((await forge.ask(users.bob, 'GET', `${pulls}?state=all`)).length).toBe(0)
  })
})
