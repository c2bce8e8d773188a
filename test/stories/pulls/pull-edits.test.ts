import { fromJson, type JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EditPullRequestRequestSchema } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { tokenOf } from '../../support/callers.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Bob's repository, to which carol may write, with an open pull request of eve from her fork. */
async function proposed(name: string) {
  const base = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${base.path}/collaborators/carol`, { permission: 'write' })
  await forge.change(users.bob, base.path, 'next')
  const fork = await forge.fork(users.eve, base.path)
  const head = await forge.change(users.eve, fork.path, 'theirs')
  const draft = {
    head: 'eve:theirs',
    base: 'main',
    title: 'Mend it',
    body: 'first',
    allow_maintainer_edit: false,
  }
  const { number } = await forge.ask(users.eve, 'POST', base.pulls, draft)
  const pull = `${base.pulls}/${number}`
  return {
    ...base,
    fork,
    head,
    pull,
    edit: (who: keyof PullTestUsers, body: object) => forge.rest(users[who], 'PATCH', pull, body),
    read: () => forge.ask(users.bob, 'GET', pull),
    /** Makes a pull request merged, as far as its rows say. */
    markMerged: () =>
      server.app.db
        .updateTable('issues')
        .set({ state: 'MERGED', merge_time: 1, merge_commit: head })
        .where('repository_id', '=', base.id)
        .execute(),
  }
}

describe('an edit', () => {
  it('by the poster changes title, text, due date and base, and counts changes of the text', async () => {
    const { edit, read } = await proposed('posters')
    const bug = await forge.ask(users.bob, 'POST', '/repos/bob/posters/labels', {
      name: 'bug',
      color: '#ff0000',
    })
    const milestone = await forge.ask(users.bob, 'POST', '/repos/bob/posters/milestones', {
      title: 'v1',
    })
    const edited = await edit('eve', {
      title: 'Mend all',
      body: 'second',
      content_version: 0,
      due_date: '2026-06-01T03:00:00+05:00',
      base: 'next',
      // What is not for them is no fault, and changes nothing.
      assignees: ['bob'],
      labels: [bug.id],
      milestone: milestone.id,
    })
    expect(edited.status).toBe(201)
    expect(edited.body).toMatchObject({
      title: 'Mend all',
      body: 'second',
      content_version: 1,
      due_date: '2026-06-01T18:59:59Z',
      base: { ref: 'next' },
      assignees: [],
      labels: [],
      milestone: null,
    })
    const next = (await forge.ask(users.bob, 'GET', '/repos/bob/posters/branches/next')).commit.id
    expect(edited.body.merge_base).not.toBe(next)
    // The same text again is no change, nor is an empty title.
    expect((await edit('eve', { title: '', body: 'second' })).body).toMatchObject({
      content_version: 1,
      title: 'Mend all',
    })
    expect((await edit('eve', { body: '' })).body).toMatchObject({ content_version: 2, body: '' })
    expect((await edit('eve', { title: 'x', body: null })).body).toMatchObject({
      content_version: 2,
      body: '',
    })
    expect(await read()).toMatchObject({ title: 'x', content_version: 2 })
  })

  it('by a writer also sets assignees, milestone and labels', async () => {
    const { edit, path } = await proposed('writers')
    const label = async (name: string) =>
      (await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: '#ff0000' })).id
    const [a, b] = [await label('a'), await label('b')]
    const [first, second] = [
      await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' }),
      await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v2' }),
    ]
    const seen = async (body: object) => {
      const { status, body: answer } = await edit('carol', body)
      const names = (list: { login?: string; name?: string }[]) =>
        list.map(({ login, name }) => login ?? name)
      return [status, names(answer.assignees), names(answer.labels), answer.milestone?.title]
    }
    expect(await seen({ assignees: ['eve'], labels: [a, b], milestone: first.id })).toEqual([
      201,
      ['eve'],
      ['a', 'b'],
      'v1',
    ])
    // The two together are the new set; each alone replaces it.
    expect(await seen({ assignee: 'carol', assignees: ['bob'] })).toEqual([
      201,
      ['bob', 'carol'],
      ['a', 'b'],
      'v1',
    ])
    expect(await seen({ assignee: 'eve', labels: [b, 12_345] })).toEqual([
      201,
      ['eve'],
      ['b'],
      'v1',
    ])
    expect(await seen({ assignees: null, labels: null, milestone: 0 })).toEqual([
      201,
      ['eve'],
      ['b'],
      'v1',
    ])
    expect(await seen({ assignees: [], labels: [], milestone: second.id })).toEqual([
      201,
      [],
      [],
      'v2',
    ])
    const milestones = await forge.ask(users.bob, 'GET', `${path}/milestones`)
    expect(milestones.map(({ open_issues }: { open_issues: number }) => open_issues)).toEqual([
      0, 1,
    ])
    await edit('carol', { state: 'closed' })
    expect(
      (await forge.ask(users.bob, 'GET', `${path}/milestones/${second.id}`)).closed_issues,
    ).toBe(1)
  })

  it('sets a due date that ends with its day in its time zone', async () => {
    const { edit } = await proposed('days')
    const dateOf = async (body: object) => {
      const { status, body: answer } = await edit('eve', body)
      return status === 201 ? answer.due_date : status
    }
    expect(await dateOf({ due_date: '2026-06-01T00:00:00Z' })).toBe('2026-06-01T23:59:59Z')
    expect(await dateOf({ deadline: '2026-06-02T23:30:00.5-08:00' })).toBe('2026-06-03T07:59:59Z')
    expect(await dateOf({ unset_due_date: false })).toBe('2026-06-03T07:59:59Z')
    expect(await dateOf({ due_date: '2026-02-29T00:00:00Z' })).toBe(422)
    expect(await dateOf({ due_date: 'tomorrow' })).toBe(422)
    expect(await dateOf({ due_date: '0001-01-01T00:00:00Z' })).toBe(null)
    expect(await dateOf({ due_date: '2028-02-28T00:00:00Z' })).toBe('2028-02-28T23:59:59Z')
    expect(await dateOf({ due_date: '9999-12-31T00:00:00-12:00' })).toBe(null)
    expect(await dateOf({ due_date: '2028-02-29T00:00:00Z' })).toBe('2028-02-29T23:59:59Z')
    expect(await dateOf({ remove_deadline: true, deadline: '2026-06-02T00:00:00Z' })).toBe(null)
  })

  it('causes the event that its kind has', async () => {
    const { edit, id } = await proposed('watched')
    await edit('eve', { title: 'other', base: 'next' })
    await edit('eve', { title: 'other', state: 'closed' })
    await edit('carol', { state: 'open', base: 'main' })
    await edit('eve', { body: 'more' })
    // What changes nothing is not told.
    await edit('eve', {
      body: 'more',
      title: 'other',
      state: 'open',
      base: 'main',
      allow_maintainer_edit: false,
    })
    const events = await server.app.db
      .selectFrom('repository_events')
      .select(['type', 'subject'])
      .where('repository_id', '=', id)
      .orderBy('id')
      .execute()
    const ofPulls = events.filter(({ type }) => type.startsWith('PULL_REQUEST_'))
    expect(
      ofPulls.map(({ type, subject }) => [
        type.slice('PULL_REQUEST_'.length),
        JSON.parse(subject)[1],
      ]),
    ).toEqual([
      ['OPENED', 'main'],
      ['RETARGETED', 'next'],
      ['CLOSED', 'next'],
      ['REOPENED', 'main'],
      ['RETARGETED', 'main'],
      ['EDITED', 'main'],
    ])
  })

  it('closes, and reopens with the present commit of the branch', async () => {
    const { edit, fork, read } = await proposed('reopened')
    expect((await edit('eve', { state: 'closed' })).body).toMatchObject({
      state: 'closed',
      merged: false,
    })
    expect((await read()).closed_at).toEqual(expect.any(String))
    const moved = await forge.change(users.eve, fork.path, 'theirs', 'main', 'more.txt')
    // What is closed follows nothing.
    expect(
      (
        await server.app.db
          .selectFrom('issues')
          .selectAll()
          .orderBy('id', 'desc')
          .executeTakeFirst()
      )?.head_commit,
    ).not.toBe(moved)
    const opened = await forge
      .grpcAs(users.carol)
      .editPullRequest({ owner: 'bob', repo: 'reopened', index: 1n, state: 'open' })
    expect([opened.state, opened.head?.sha, opened.closedAt]).toEqual(['open', moved, undefined])
    // The same once more is no change, and no fault.
    expect((await edit('eve', { state: 'open' })).status).toBe(201)
  })

  it('lets only the poster, who may push there, change maintainer edits', async () => {
    const { edit, path } = await proposed('letting')
    const refusal = [403, 'SetAllowEdits: user not allowed to do this action']
    const outcome = async (who: keyof PullTestUsers) => {
      const { status, body } = await edit(who, { allow_maintainer_edit: true })
      return [status, body.message ?? body.allow_maintainer_edit]
    }
    expect(await outcome('bob')).toEqual(refusal)
    expect(await outcome('carol')).toEqual(refusal)
    expect(await outcome('eve')).toEqual([201, true])
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/eve`, { permission: 'write' })
    await forge.ask(users.eve, 'DELETE', '/repos/eve/letting')
    expect(await outcome('eve')).toEqual(refusal)
  })
})

describe('a refused edit', () => {
  type Case = [
    name: string,
    who: keyof PullTestUsers,
    body: JsonObject,
    status: number,
    reason: string,
    text: RegExp | string,
  ]
  it.each<Case>([
    [
      'by another version',
      'eve',
      { content_version: 7 },
      409,
      'PULL_REQUEST_CHANGED',
      'the issue is already changed',
    ],
    [
      'for an assignee who is nobody',
      'carol',
      { assignees: ['no'] },
      422,
      'ASSIGNEE_NOT_FOUND',
      'Assignee does not exist: [name: user does not exist [uid: 0, name: no]]',
    ],
    [
      'for an assignee who is archived',
      'carol',
      { assignee: 'dan' },
      422,
      'ASSIGNEE_NOT_ASSIGNABLE',
      /^user doesn't have access to repo/,
    ],
    [
      'for an assignee who has blocked the caller',
      'carol',
      { assignee: 'ada' },
      403,
      'USER_BLOCKED',
      'user is blocked',
    ],
    [
      'for a milestone that is not there',
      'carol',
      { milestone: 99 },
      404,
      'MILESTONE_NOT_FOUND',
      'not found',
    ],
    [
      'for another state',
      'eve',
      { state: 'ajar' },
      412,
      'INVALID_PULL_REQUEST_STATE',
      'unknown state: ajar',
    ],
    [
      'for a base that is not there',
      'eve',
      { base: 'no' },
      404,
      'NEW_BASE_NOT_FOUND',
      "new base 'no' not exist",
    ],
    [
      'for a base that is no name',
      'eve',
      { base: 'a..b' },
      404,
      'NEW_BASE_NOT_FOUND',
      "new base 'a..b' not exist",
    ],
    [
      'for a base that another one has',
      'eve',
      { base: 'taken' },
      409,
      'PULL_REQUEST_EXISTS',
      /^pull request already exists for these targets \[id: \d+, issue_id: \d+, head_repo_id: \d+, base_repo_id: \d+, head_branch: theirs, base_branch: taken\]$/,
    ],
    [
      'for a base once it is closed',
      'eve',
      { state: 'closed', base: 'next' },
      422,
      'RETARGET_OF_CLOSED',
      /closed pull request$/,
    ],
    [
      'for what only the poster says',
      'carol',
      { allow_maintainer_edit: true },
      403,
      'MAINTAINER_EDIT_DENIED',
      'SetAllowEdits: user not allowed to do this action',
    ],
    [
      'with too long a text',
      'eve',
      { body: 'x'.repeat(65_537) },
      422,
      'INVALID_FIELD',
      /^body is longer/,
    ],
  ])('%s changes nothing', async (_name, who, body, status, reason, text) => {
    refused ??= prepare()
    const { edit, read } = await refused
    // Whether it can be merged is found out meanwhile.
    const { mergeable: _, mergeability: __, ...before } = await read()
    const asked = { title: 'other', labels: [], ...body }
    const answer = await edit(who, asked)
    const expected = typeof text === 'string' ? text : expect.stringMatching(text)
    expect([answer.status, answer.body.message]).toEqual([status, expected])
    const request = fromJson(EditPullRequestRequestSchema, {
      owner: 'bob',
      repo: 'refusing',
      index: 1,
      ...asked,
    })
    expect(await refusalOf(forge.grpcAs(users[who]).editPullRequest(request))).toMatchObject({
      reason,
    })
    // All or nothing.
    expect(await read()).toMatchObject(before)
  })

  let refused: ReturnType<typeof prepare> | undefined

  async function prepare() {
    const made = await proposed('refusing')
    await forge.change(users.bob, made.path, 'taken')
    await forge.ask(users.eve, 'POST', made.pulls, {
      head: 'eve:theirs',
      base: 'taken',
      title: 'x',
    })
    await forge.ask(users.ada, 'PUT', '/user/blocks/carol')
    return made
  }

  it('reveals nothing to strangers and to users who may not read the pull request', async () => {
    const { path, pull } = await proposed('strange')
    const sayNothing = await fetch(`${server.url}/api/v1${pull}`, {
      method: 'PATCH',
      headers: { authorization: users.ada.authorization, 'content-type': 'application/json' },
      body: '{"title":"mine"}',
    })
    // An administrator of the site writes everywhere.
    expect(sayNothing.status).toBe(201)
    const outsider = await tokenOf(server.url, users.ada, ['write:repository'])
    const denied = await fetch(`${server.url}/api/v1${pull}`, {
      method: 'PATCH',
      headers: { authorization: outsider.authorization, 'content-type': 'application/json' },
      body: '{"title":"mine"}',
    })
    expect([denied.status, await denied.text()]).toEqual([403, ''])
    const request = { owner: 'bob', repo: 'strange', index: 1n, title: 'mine' }
    expect(await refusalOf(forge.grpcAs(outsider).editPullRequest(request))).toMatchObject({
      code: 'PermissionDenied',
      reason: 'PULL_REQUEST_EDIT_DENIED',
    })
    const statusOf = async (who: { authorization: string } | undefined, path: string) =>
      (await forge.rest(who, 'PATCH', path, { title: 'mine' })).status
    expect(await statusOf(undefined, pull)).toBe(401)
    expect(await statusOf(users.bob, `${path}/pulls/77`)).toBe(404)
    expect(await statusOf(await tokenOf(server.url, users.bob, ['read:repository']), pull)).toBe(
      403,
    )
    await forge.ask(users.bob, 'PATCH', path, { private: true })
    expect(await statusOf(outsider, pull)).toBe(404)
    expect(
      await statusOf(
        await tokenOf(server.url, users.bob, ['write:repository', 'public-only']),
        pull,
      ),
    ).toBe(404)
    await forge.ask(users.bob, 'PATCH', path, { private: false, archived: true })
    expect(await statusOf(users.bob, pull)).toBe(423)
    await forge.ask(users.bob, 'PATCH', path, { archived: false })
    // Whom the owner has blocked, and who has no more than what they opened.
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve')
    expect(await statusOf(users.eve, pull)).toBe(403)
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
  })

  it('because the pull request is merged', async () => {
    const { edit, markMerged } = await proposed('merged')
    await markMerged()
    const fixed = [412, 'cannot change state of this pull request, it was already merged']
    for (const state of ['open', 'closed', 'ajar']) {
      const { status, body } = await edit('bob', { state })
      expect([status, body.message]).toEqual(fixed)
    }
    const moved = await edit('bob', { base: 'next' })
    expect([moved.status, moved.body.message]).toEqual([
      409,
      'cannot change the target branch of a merged pull request',
    ])
    // Where it went already is nowhere else.
    expect((await edit('bob', { base: 'main', title: 'Mended' })).body).toMatchObject({
      title: 'Mended',
      merged: true,
    })
    const request = { owner: 'bob', repo: 'merged', index: 1n, state: 'closed' }
    expect(await refusalOf(forge.grpcAs(users.bob).editPullRequest(request))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'PULL_REQUEST_STATE_FIXED',
    })
  })

  it('because the pull request is closed', async () => {
    const { edit } = await proposed('shut')
    await edit('eve', { state: 'closed' })
    expect((await edit('eve', { base: 'next' })).status).toBe(422)
    expect((await edit('eve', { base: 'next', state: 'open' })).body).toMatchObject({
      state: 'open',
      base: { ref: 'next' },
    })
  })

  it('because it cannot be reopened: a branch is missing, or another pull request has the same branches', async () => {
    const { edit, path, pulls, fork } = await proposed('gone')
    await edit('eve', { state: 'closed' })
    const other = await forge.ask(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'main',
      title: 'again',
    })
    const beside = await edit('eve', { state: 'open' })
    expect([beside.status, beside.body.message]).toEqual([
      409,
      expect.stringContaining(`[id: ${other.id}, `),
    ])
    // To who may not read it the repository of the head has no number.
    await forge.ask(users.eve, 'PATCH', fork.path, { private: true })
    const third = await forge.ask(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'next',
      title: 'elsewhere',
    })
    const moved = await forge.rest(users.carol, 'PATCH', `${pulls}/${other.number}`, {
      base: 'next',
    })
    expect([moved.status, moved.body.message]).toEqual([
      409,
      expect.stringContaining('head_repo_id: -1,'),
    ])
    for (const { number } of [other, third]) {
      await forge.ask(users.eve, 'PATCH', `${pulls}/${number}`, { state: 'closed' })
    }
    // Nor do they get at what has come to it since.
    const secret = await forge.change(users.eve, fork.path, 'theirs', 'main', 'secret.txt')
    expect((await edit('carol', { state: 'open' })).status).toBe(412)
    expect((await forge.rest(users.carol, 'GET', `${path}/git/commits/${secret}`)).status).toBe(404)
    await forge.ask(users.eve, 'DELETE', `${fork.path}/branches/theirs`)
    const without = await edit('eve', { state: 'open' })
    expect([without.status, without.body.message]).toEqual([
      412,
      'cannot reopen this pull request because branch theirs does not exist',
    ])
    await forge.change(users.eve, fork.path, 'theirs')
    await edit('eve', { state: 'open', base: 'next' })
    await edit('eve', { state: 'closed' })
    await forge.ask(users.bob, 'DELETE', `${path}/branches/next`)
    expect((await edit('eve', { state: 'open' })).body.message).toContain(
      'branch next does not exist',
    )
    expect((await edit('eve', { state: 'open', base: 'main' })).body).toMatchObject({
      state: 'open',
      base: { ref: 'main' },
    })
  })

  it('because another edit of the text won a race', async () => {
    const { edit, read } = await proposed('racing')
    const texts = Array.from({ length: 6 }, (_, i) => `text ${i}`)
    const answers = await Promise.all(
      texts.map((body) => edit('eve', { body, content_version: 0 })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(409)])
    expect(await read()).toMatchObject({ content_version: 1 })
  })

  it('because two pull requests would have the same branches at the same time', async () => {
    const { pulls, path, pull } = await proposed('crossing')
    for (let round = 0; round < 5; round += 1) {
      const base = `base-${round}`
      await forge.change(users.bob, path, base)
      const [moved, made] = await Promise.all([
        forge.rest(users.eve, 'PATCH', pull, { base }),
        forge.rest(users.eve, 'POST', pulls, { head: 'eve:theirs', base, title: 'x' }),
      ])
      expect([moved.status, made.status].sort()).toEqual([201, 409])
      const open = await forge.ask(users.bob, 'GET', `${pulls}?base_branch=${base}`)
      expect(open.length).toBe(1)
    }
  })
})
