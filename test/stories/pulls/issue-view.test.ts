import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
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

const issueOf = ({ path }: Pick<ReviewedPull, 'path'>) => `${path}/issues/1`
const labelsOf = (pull: ReviewedPull) => `${issueOf(pull)}/labels`
const grpcAs = (who: Actor) =>
  createClient(IssueService, transportTo(server.url, 'gRPC', who.authorization))
const namesOf = (labels: { name: string }[]) => labels.map(({ name }) => name)

/** Makes labels of a repository and returns their numbers. */
async function labels({ path }: ReviewedPull, ...names: string[]): Promise<number[]> {
  const ids: number[] = []
  for (const name of names) {
    const exclusive = name.includes('/')
    ids.push(
      (await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: 'abc', exclusive })).id,
    )
  }
  return ids
}

describe('a pull request as an issue', () => {
  it('has the common fields and the marker of pull requests', async () => {
    const pull = await forge.pull('common')
    const seen = await forge.ask(users.carol, 'GET', pull.pull)
    const url = `${server.url}/bob/common/pulls/1`
    expect(await forge.ask(users.carol, 'GET', issueOf(pull))).toEqual({
      id: seen.id,
      url: `${server.url}/api/v1/repos/bob/common/issues/1`,
      html_url: url,
      number: 1,
      user: seen.user,
      original_author: '',
      original_author_id: 0,
      title: 'A change',
      body: '',
      ref: '',
      assets: [],
      labels: [],
      milestone: null,
      assignee: null,
      assignees: [],
      state: 'open',
      is_locked: false,
      comments: 0,
      created_at: seen.created_at,
      updated_at: seen.updated_at,
      closed_at: null,
      due_date: null,
      pull_request: { merged: false, merged_at: null, draft: false, html_url: url },
      repository: { id: seen.base.repo_id, name: 'common', owner: 'bob', full_name: 'bob/common' },
      pin_order: 0,
      content_version: 0,
      time_estimate: 0,
    })
    await forge.ask(users.bob, 'POST', `${pull.pull}/merge`, { Do: 'merge' })
    const merged = await forge.ask(users.bob, 'GET', pull.pull)
    expect((await forge.rest(undefined, 'GET', issueOf(pull))).body).toMatchObject({
      state: 'closed',
      closed_at: merged.closed_at,
      pull_request: { merged: true, merged_at: merged.merged_at },
    })
  })

  it('is edited by the rules of pull requests', async () => {
    const pull = await forge.pull('edited')
    const issue = issueOf(pull)
    const { id: milestone } = await forge.ask(users.bob, 'POST', `${pull.path}/milestones`, {
      title: 'One',
    })
    const changes = {
      title: 'WIP: it',
      body: 'Text.',
      due_date: '2030-01-02T03:04:05Z',
      assignees: ['eve'],
      milestone,
    }
    const edited = await forge.rest(users.bob, 'PATCH', issue, { ...changes, state: 'closed' })
    expect(edited.status).toBe(201)
    expect(edited.body).toMatchObject({
      title: 'WIP: it',
      body: 'Text.',
      due_date: '2030-01-02T23:59:59Z',
      assignees: [{ login: 'eve' }],
      milestone: { title: 'One' },
      state: 'closed',
      pull_request: { draft: true },
      content_version: 1,
    })
    const seen = await forge.ask(users.bob, 'GET', issue)
    expect(seen).toEqual(edited.body)
    // As the clients send it that know no absent members.
    const nothing = {
      title: '',
      body: null,
      assignee: '',
      assignees: null,
      milestone: null,
      state: null,
      due_date: null,
    }
    expect(
      (await forge.ask(users.bob, 'PATCH', issue, { ...nothing, unset_due_date: null })).title,
    ).toBe('WIP: it')
    // A pull request keeps its milestone at 0, and an issue loses it.
    const kept = await forge.ask(users.bob, 'PATCH', pull.pull, { milestone: 0 })
    expect(kept.milestone).toMatchObject({ title: 'One' })
    for (let i = 0; i < 2; i++)
      expect((await forge.ask(users.bob, 'PATCH', issue, { milestone: 0 })).milestone).toBe(null)
    const timeline = await forge.ask(users.bob, 'GET', `${issue}/timeline`)
    const moves = timeline.filter(({ type }: { type: string }) => type === 'milestone')
    expect(
      moves.map(({ milestone, old_milestone }: Record<string, { title: string } | null>) => [
        old_milestone?.title,
        milestone?.title,
      ]),
    ).toEqual([
      [undefined, 'One'],
      ['One', undefined],
    ])
    expect(
      await forge.ask(users.bob, 'PATCH', issue, { unset_due_date: true, assignees: [] }),
    ).toMatchObject({
      due_date: null,
      assignees: [],
    })
    for (const [who, body, status, text] of [
      [users.bob, { body: 'x', content_version: 0 }, 409, 'the issue is already changed'],
      [users.bob, { state: 'merged' }, 412, 'unknown state: merged'],
      [users.bob, { assignees: ['nobody-at-all'] }, 422, 'Assignee does not exist'],
      [users.bob, { milestone: 99 }, 404, 'not found'],
      [users.eve, { title: 'Mine' }, 403, undefined],
      [undefined, { title: 'Mine' }, 401, 'sign in first'],
    ] as const) {
      const refused = await forge.rest(who, 'PATCH', issue, body)
      expect([refused.status, refused.body.message]).toEqual([
        status,
        text === undefined ? undefined : expect.stringContaining(text),
      ])
    }
  })

  it('is not found by callers who may not read it, or by another number', async () => {
    const pull = await forge.pull('hidden', { private: true })
    for (const [method, path, body] of [
      ['GET', issueOf(pull), undefined],
      ['PATCH', issueOf(pull), { title: 'x' }],
      ['GET', labelsOf(pull), undefined],
      ['POST', labelsOf(pull), { labels: [1] }],
      ['PUT', labelsOf(pull), { labels: [1] }],
      ['DELETE', labelsOf(pull), undefined],
      ['DELETE', `${labelsOf(pull)}/1`, undefined],
    ] as const) {
      expect((await forge.rest(users.eve, method, path, body)).status, `${method} ${path}`).toBe(
        404,
      )
      const elsewhere = path.replace('issues/1', 'issues/7')
      expect(
        (await forge.rest(users.bob, method, elsewhere, body)).status,
        `${method} ${elsewhere}`,
      ).toBe(404)
    }
  })

  it('is the same over gRPC', async () => {
    await forge.pull('grpc')
    const place = { owner: 'bob', repo: 'grpc', index: 1n }
    const [bob, eve] = [grpcAs(users.bob), grpcAs(users.eve)]
    expect(await eve.getIssue(place)).toMatchObject({ number: 1n, pullRequest: { merged: false } })
    expect((await bob.editIssue({ ...place, title: 'Better' })).title).toBe('Better')
    const reasonOf = async (made: Promise<unknown>) => (await refusalOf(made)).reason
    expect(await reasonOf(eve.editIssue({ ...place, title: 'x' }))).toBe('PULL_REQUEST_EDIT_DENIED')
    expect(await reasonOf(eve.addIssueLabels({ ...place, labels: [] }))).toBe(
      'REPOSITORY_ACCESS_DENIED',
    )
    expect(await reasonOf(bob.getIssue({ ...place, index: 9n }))).toBe('ISSUE_NOT_FOUND')
    expect(await reasonOf(bob.removeIssueLabel({ ...place, id: 999n }))).toBe('LABEL_NOT_FOUND')
    expect(
      await reasonOf(
        bob.addIssueLabels({ ...place, labels: [{ kind: { case: 'boolValue', value: true } }] }),
      ),
    ).toBe('LABEL_MALFORMED')
  })
})

describe('labels of a pull request', () => {
  it('are added, replaced and removed one by one or together, by number and by name', async () => {
    const pull = await forge.pull('labels')
    const [bug, late] = await labels(pull, 'bug', 'late', 'more')
    expect(
      namesOf(await forge.ask(users.carol, 'POST', labelsOf(pull), { labels: ['late', bug] })),
    ).toEqual(['bug', 'late'])
    expect(
      namesOf(await forge.ask(users.carol, 'POST', labelsOf(pull), { labels: ['more', 'late'] })),
    ).toEqual(['bug', 'late', 'more'])
    expect((await forge.rest(undefined, 'GET', labelsOf(pull))).body).toEqual(
      (await forge.ask(users.bob, 'GET', pull.pull)).labels,
    )
    expect((await forge.rest(users.carol, 'DELETE', `${labelsOf(pull)}/${bug}`)).status).toBe(204)
    // What it does not have cannot be taken from it, which is as well.
    expect((await forge.rest(users.carol, 'DELETE', `${labelsOf(pull)}/${bug}`)).status).toBe(204)
    expect((await forge.rest(users.carol, 'DELETE', `${labelsOf(pull)}/999`)).status).toBe(404)
    expect(namesOf(await forge.ask(users.bob, 'GET', labelsOf(pull)))).toEqual(['late', 'more'])
    expect(namesOf(await forge.ask(users.carol, 'PUT', labelsOf(pull), { labels: [bug] }))).toEqual(
      ['bug'],
    )
    // Unknown ones are ignored, whatever they are.
    const unknown = { labels: ['none', 999, -1, late] }
    expect(namesOf(await forge.ask(users.carol, 'PUT', labelsOf(pull), unknown))).toEqual(['late'])
    expect((await forge.rest(users.carol, 'DELETE', labelsOf(pull))).status).toBe(204)
    expect(await forge.ask(users.bob, 'GET', labelsOf(pull))).toEqual([])
    expect(await forge.ask(users.carol, 'POST', labelsOf(pull), {})).toEqual([])
  })

  it('exclude other labels of their scope', async () => {
    const pull = await forge.pull('scopes')
    const [low, high] = await labels(pull, 'priority/low', 'priority/high', 'plain')
    await forge.ask(users.carol, 'POST', labelsOf(pull), { labels: [low, 'plain'] })
    expect(
      namesOf(await forge.ask(users.carol, 'POST', labelsOf(pull), { labels: [high] })),
    ).toEqual(['plain', 'priority/high'])
  })

  it('may belong to the organisation, after those of the repository', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'acme' })
    const { id } = await forge.ask(users.bob, 'POST', '/orgs/acme/labels', {
      name: 'bug',
      color: 'abc',
    })
    await forge.ask(users.bob, 'POST', '/orgs/acme/labels', { name: 'ours', color: 'abc' })
    await forge.ask(users.bob, 'POST', '/orgs/acme/repos', { name: 'engine', auto_init: true })
    const path = '/repos/acme/engine'
    const own = await forge.ask(users.bob, 'POST', `${path}/labels`, { name: 'bug', color: 'def' })
    await forge.change(users.bob, path, 'topic')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      head: 'topic',
      base: 'main',
      title: 'A change',
    })
    const given = await forge.ask(users.bob, 'POST', `${path}/issues/1/labels`, {
      labels: ['ours', 'bug'],
    })
    expect(namesOf(given)).toEqual(['bug', 'ours'])
    expect(given[0]).toMatchObject({
      id: own.id,
      url: expect.stringContaining('/repos/acme/engine/labels/'),
    })
    expect(given[1].url).toContain('/orgs/acme/labels/')
    const both = await forge.ask(users.bob, 'PUT', `${path}/issues/1/labels`, { labels: [id] })
    expect(both).toMatchObject([{ id }])
    // Those of another repository are none of its own.
    const { id: foreign } = await forge.ask(users.bob, 'POST', '/repos/bob/labels/labels', {
      name: 'x',
      color: 'abc',
    })
    expect(
      await forge.ask(users.bob, 'PUT', `${path}/issues/1/labels`, { labels: [foreign, 'x'] }),
    ).toEqual([])
    expect(
      (await forge.rest(users.bob, 'DELETE', `${path}/issues/1/labels/${foreign}`)).status,
    ).toBe(404)
  })

  it('can be changed by users who may write pull requests, unless the repository is archived', async () => {
    const pull = await forge.pull('rights')
    const [bug] = await labels(pull, 'bug')
    const cases = [
      ['POST', labelsOf(pull), { labels: [bug] }],
      ['PUT', labelsOf(pull), { labels: [bug] }],
      ['DELETE', labelsOf(pull), undefined],
      ['DELETE', `${labelsOf(pull)}/${bug}`, undefined],
    ] as const
    const reading = await tokenOf(server.url, users.carol, ['read:issue', 'write:repository'])
    const publicOnly = await tokenOf(server.url, users.carol, ['write:issue', 'public-only'])
    for (const [method, path, body] of cases) {
      const statuses: number[] = []
      for (const who of [undefined, users.eve, reading])
        statuses.push((await forge.rest(who, method, path, body)).status)
      expect(statuses, `${method} ${path}`).toEqual([401, 403, 403])
      expect((await forge.rest(publicOnly, method, path, body)).status).toBeLessThan(300)
    }
    await forge.ask(users.bob, 'PATCH', pull.path, { archived: true })
    for (const [method, path, body] of cases)
      expect((await forge.rest(users.bob, method, path, body)).status).toBe(423)
  })

  it.each<[title: string, body: object, status: number]>([
    ['what is neither a number nor a name', { labels: [true] }, 400],
    ['a part of a number', { labels: [1.5] }, 400],
    ['nothing', { labels: [null] }, 400],
    ['a list in the list', { labels: [[1]] }, 400],
    ['more than anything has', { labels: Array.from({ length: 101 }, (_, i) => i) }, 422],
    ['no list', { labels: 'bug' }, 422],
  ])('are refused as %s', async (_, body, status) => {
    bad ??= forge.pull('bad')
    for (const method of ['POST', 'PUT'])
      expect((await forge.rest(users.bob, method, labelsOf(await bad), body)).status).toBe(status)
  })
  let bad: Promise<ReviewedPull> | undefined

  it('cause an event only when they change', async () => {
    const pull = await forge.pull('told')
    const [bug] = await labels(pull, 'bug')
    const { db } = server.app
    const told = async () => {
      const { id } = await forge.ask(users.bob, 'GET', pull.pull)
      const { change_count } = await db
        .selectFrom('issues')
        .select('change_count')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const events = await db
        .selectFrom('repository_events')
        .select('type')
        .where('subject_id', '=', id)
        .where('type', '=', 'PULL_REQUEST_EDITED')
        .execute()
      return [change_count, events.length]
    }
    const [changes = 0, events = 0] = await told()
    for (const labels of [[bug], [bug, 'bug'], []])
      await forge.ask(users.bob, 'POST', labelsOf(pull), { labels })
    expect(await told()).toEqual([changes + 1, events + 1])
    await forge.ask(users.bob, 'DELETE', labelsOf(pull))
    await forge.ask(users.bob, 'DELETE', labelsOf(pull))
    expect(await told()).toEqual([changes + 2, events + 2])
  })
})

describe('a pull request that depends on another one', () => {
  /**
   * A repository with three pull requests of carol's, and what of the first one there is to ask.
   */
  async function three(name: string) {
    const pull = await forge.pull(name)
    for (const head of ['second', 'third']) {
      await forge.change(users.carol, pull.path, head)
      await forge.ask(users.carol, 'POST', `${pull.path}/pulls`, {
        head,
        base: 'main',
        title: `The ${head}`,
      })
    }
    return { ...pull, dependencies: `${issueOf(pull)}/dependencies` }
  }
  const numbersOf = (issues: { number: number }[]) => issues.map(({ number }) => number)

  it('can neither be closed nor merged while the other one is open', async () => {
    const { path, pull, dependencies } = await three('waiting')
    const made = await forge.rest(users.carol, 'POST', dependencies, { index: 3 })
    expect([made.status, made.body.number]).toEqual([201, 1])
    await forge.ask(users.carol, 'POST', dependencies, { index: 2, owner: 'BOB', repo: 'Waiting' })
    const { body, headers } = await forge.rest(undefined, 'GET', dependencies)
    expect([numbersOf(body), headers.get('x-total-count')]).toEqual([[3, 2], '2'])
    const closed = await forge.rest(users.carol, 'PATCH', pull, { state: 'closed' })
    expect([closed.status, closed.body.message]).toEqual([
      412,
      'cannot close this issue or pull request because it still has open dependencies',
    ])
    await expect.poll(async () => (await forge.ask(users.bob, 'GET', pull)).mergeable).toBe(true)
    const merged = await forge.rest(users.bob, 'POST', `${pull}/merge`, {
      Do: 'merge',
      force_merge: true,
    })
    expect([merged.status, merged.body.message]).toEqual([405, 'is blocked by an open dependency'])
    expect((await forge.ask(users.bob, 'GET', pull)).state).toBe('open')

    await forge.ask(users.carol, 'PATCH', `${path}/pulls/2`, { state: 'closed' })
    const removed = await forge.rest(users.carol, 'DELETE', dependencies, { index: 3 })
    expect([removed.status, removed.body.number]).toEqual([200, 1])
    expect(numbersOf(await forge.ask(users.bob, 'GET', dependencies))).toEqual([2])
    expect((await forge.rest(users.bob, 'POST', `${pull}/merge`, { Do: 'merge' })).status).toBe(200)
  })

  it('cannot depend on one twice, on itself, or on one that depends on it', async () => {
    const { path, dependencies } = await three('once')
    for (const index of [2, 2]) await forge.ask(users.carol, 'POST', dependencies, { index })
    expect(numbersOf(await forge.ask(users.bob, 'GET', dependencies))).toEqual([2])
    for (const [place, index] of [
      [dependencies, 1],
      [`${path}/issues/2/dependencies`, 1],
    ] as const)
      expect((await forge.rest(users.carol, 'POST', place, { index })).status).toBe(422)
    for (const body of [
      { index: 9 },
      {},
      { index: 1, owner: 'carol' },
      { index: 1, repo: 'nowhere' },
    ])
      for (const method of ['POST', 'DELETE'])
        expect((await forge.rest(users.carol, method, dependencies, body)).status).toBe(404)
  })

  it('may wait for one of another repository, which only its readers see', async () => {
    const { path, pull, dependencies } = await three('across')
    const open = await forge.pull('across-open')
    await forge.pull('across-secret', { private: true })
    const meta = (repo: string) => ({ index: 1, owner: 'bob', repo })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    for (const method of ['POST', 'DELETE'])
      expect(
        (await forge.rest(users.eve, method, `${open.path}/issues/1/dependencies`, meta('across')))
          .status,
      ).toBe(403)
    for (const repo of ['across-secret', 'across-open'])
      await forge.ask(users.bob, 'POST', dependencies, meta(repo))
    await forge.ask(users.bob, 'POST', dependencies, { index: 2 })
    const seen = (issues: { number: number; title: string; repository: object | null }[]) =>
      issues.map(({ number, title }) => [number, title])
    const all = seen(await forge.ask(users.bob, 'GET', dependencies))
    expect(all.map(([number]) => number)).toEqual([2, 1, 1])
    const stranger = await forge.rest(undefined, 'GET', dependencies)
    expect(stranger.headers.get('x-total-count')).toBe('3')
    expect(seen(stranger.body)).toEqual([all[0], all[1], [0, 'HIDDEN']])
    expect(JSON.stringify(stranger.body)).not.toContain('across-secret')
    const circle = await forge.rest(
      users.bob,
      'POST',
      `${open.path}/issues/1/dependencies`,
      meta('across'),
    )
    expect(circle.status).toBe(422)
    await forge.ask(users.carol, 'PATCH', `${path}/pulls/2`, { state: 'closed' })
    await forge.ask(users.bob, 'PATCH', `${open.path}/pulls/1`, { state: 'closed' })
    expect((await forge.rest(users.bob, 'PATCH', pull, { state: 'closed' })).status).toBe(412)
    await forge.ask(users.bob, 'DELETE', dependencies, meta('across-secret'))
    expect((await forge.rest(users.bob, 'PATCH', pull, { state: 'closed' })).status).toBe(201)
  })

  it('gets its dependencies from users who may write pull requests, unless the repository is archived', async () => {
    const { path, dependencies } = await three('whose')
    for (const method of ['POST', 'DELETE']) {
      expect((await forge.rest(users.eve, method, dependencies, { index: 2 })).status).toBe(403)
      expect((await forge.rest(undefined, method, dependencies, { index: 2 })).status).toBe(401)
    }
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    for (const method of ['POST', 'DELETE'])
      expect((await forge.rest(users.bob, method, dependencies, { index: 2 })).status).toBe(423)
    await forge.ask(users.bob, 'PATCH', path, { archived: false, private: true })
    expect((await forge.rest(users.eve, 'GET', dependencies)).status).toBe(404)
  })

  it('is merged by a scheduled merge once the other one is merged', async () => {
    const { path, pull, head, dependencies } = await three('ordered')
    const rule = { rule_name: 'main', enable_status_check: true, status_check_contexts: ['ci'] }
    await forge.ask(users.bob, 'POST', `${path}/branch_protections`, rule)
    await expect.poll(async () => (await forge.ask(users.bob, 'GET', pull)).mergeable).toBe(true)
    const order = { Do: 'merge', merge_when_checks_succeed: true }
    expect((await forge.rest(users.bob, 'POST', `${pull}/merge`, order)).status).toBe(201)
    await forge.ask(users.bob, 'POST', dependencies, { index: 2 })
    await forge.ask(users.bob, 'POST', `${path}/statuses/${head}`, {
      state: 'success',
      context: 'ci',
    })
    await finishScheduledMerges(server.app)
    expect((await forge.ask(users.bob, 'GET', pull)).merged).toBe(false)
    await forge.ask(users.bob, 'PATCH', `${path}/pulls/2`, { state: 'closed' })
    await finishScheduledMerges(server.app)
    await expect.poll(async () => (await forge.ask(users.bob, 'GET', pull)).merged).toBe(true)
  })

  it('behaves the same over gRPC', async () => {
    await three('waits-by-grpc')
    const [bob, place] = [grpcAs(users.bob), { owner: 'bob', repo: 'waits-by-grpc', index: 1n }]
    expect((await bob.addIssueDependency({ ...place, dependency: { index: 2n } })).number).toBe(1n)
    expect(await bob.listIssueDependencies(place)).toMatchObject({
      issues: [{ number: 2n }],
      total: 1n,
    })
    const reasonOf = async (made: Promise<unknown>) => (await refusalOf(made)).reason
    expect(await reasonOf(bob.editIssue({ ...place, state: 'closed' }))).toBe('CLOSE_BLOCKED')
    expect(await reasonOf(bob.addIssueDependency({ ...place, dependency: { index: 1n } }))).toBe(
      'INVALID_DEPENDENCY',
    )
    expect(await reasonOf(bob.addIssueDependency(place))).toBe('ISSUE_NOT_FOUND')
    await bob.removeIssueDependency({ ...place, dependency: { index: 2n } })
    expect((await bob.editIssue({ ...place, state: 'closed' })).state).toBe('closed')
  })
})
