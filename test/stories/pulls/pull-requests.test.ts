import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { updatePullRequest } from '../../../src/forge/pulls/heads/pull-requests.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { callerNamed, tokenOf } from '../../support/callers.ts'
import { addPull } from '../../support/forge-rows.ts'
import { type RestAnswer, restAt, type SendRest } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: TestUsers
let rest: SendRest
/** Unix milliseconds; the server's clock. */
const now = Date.UTC(2026, 4, 1, 10)

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now } })
  users = await createTestUsers(server.url)
  rest = restAt(server.url)
})
afterAll(() => server.stop())

function grpcAs(who: Pick<Actor, 'authorization'> | undefined): Client<typeof PullRequestService> {
  return createClient(PullRequestService, transportTo(server.url, 'gRPC', who?.authorization))
}

/** Code, reason and text of an RPC that fails. */
async function refusalOf(made: Promise<unknown>) {
  const error = ConnectError.from(
    await made.then(
      () => expect.fail('was not refused'),
      (thrown: unknown) => thrown,
    ),
  )
  return [Code[error.code], error.findDetails(ErrorInfoSchema)[0]?.reason, error.rawMessage]
}

/** A request that has to succeed. */
async function ask(who: Actor, method: string, path: string, body?: object) {
  const { status, body: answer } = await rest(who, method, path, body)
  expect([status < 300, answer.message]).toEqual([true, undefined])
  return answer
}

/** Makes a repository of bob with a first commit. */
async function repository(name: string, fields: object = {}) {
  const { id } = await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...fields })
  return { id: id as number, path: `/repos/bob/${name}`, pulls: `/repos/bob/${name}/pulls` }
}

/** Makes a branch with a new file in a repository; returns its commit. */
async function branch(who: Actor, path: string, name: string, base = 'main'): Promise<string> {
  const content = Buffer.from(`one\ntwo of ${name}\n`).toString('base64')
  const file = `${path}/contents/${name.replaceAll('/', '-')}.txt`
  const { commit } = await ask(who, 'POST', file, { content, branch: base, new_branch: name })
  return commit.sha
}

/**
 * Opens a pull request of a branch, which it makes where it is in the same repository; returns it.
 */
async function open(who: Actor, path: string, head: string, base = 'main', fields: object = {}) {
  if (!head.includes(':')) await branch(users.bob, path, head)
  return ask(who, 'POST', `${path}/pulls`, { head, base, title: `Pull ${head}`, ...fields })
}

/** Stores a pull request, by way of rows. */
function store(pull: Parameters<typeof addPull>[1]) {
  const create_time = Math.floor(now / 1000)
  return transaction(server.app.db, (tx) =>
    addPull(tx, { create_time, update_time: create_time, ...pull }),
  )
}

const numbersOf = ({ body }: RestAnswer) => body.map(({ number }: { number: number }) => number)

async function idOf(who: Actor): Promise<number> {
  return (await ask(who, 'GET', '/user')).id
}

describe('a pull request', () => {
  it('is the same over REST and gRPC, with all fields', async () => {
    const { id, path, pulls } = await repository('whole')
    await ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const head = await branch(users.bob, path, 'fix/1')
    const main = (await ask(users.bob, 'GET', `${path}/branches/main`)).commit.id
    const label = await ask(users.bob, 'POST', `${path}/labels`, { name: 'bug', color: '#ff0000' })
    const milestone = await ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    const made = await ask(users.carol, 'POST', pulls, {
      head: 'fix/1',
      base: 'main',
      title: '[wip] Fix it',
      body: '*Finally.*',
      labels: [label.id],
      milestone: milestone.id,
      assignees: ['carol', 'bob'],
      reviewers: ['bob'],
      due_date: '2026-06-01T12:00:00+02:00',
      allow_maintainer_edit: false,
    })
    const [bob, carol] = ['bob', 'carol'].map((login) => expect.objectContaining({ login }))
    const repo = await ask(users.bob, 'GET', path)
    const answer = await rest(users.bob, 'GET', `${pulls}/1`)
    const url = `${server.url}/bob/whole/pulls/1`
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: made.id,
      auto_merge: null,
      merge_queue_entry: null,
      flow: 0,
      agit_topic: '',
      url,
      number: 1,
      user: carol,
      title: '[wip] Fix it',
      body: '*Finally.*',
      labels: [label],
      milestone: { ...milestone, open_issues: 1 },
      assignee: bob,
      assignees: [bob, carol],
      requested_reviewers: [bob],
      requested_reviewers_teams: [],
      state: 'open',
      draft: true,
      is_locked: false,
      comments: 0,
      additions: 2,
      deletions: 0,
      changed_files: 1,
      html_url: url,
      diff_url: `${url}.diff`,
      patch_url: `${url}.patch`,
      mergeable: false,
      mergeability: 'MERGEABLE',
      merged: false,
      merged_at: null,
      merge_commit_sha: null,
      merged_by: null,
      allow_maintainer_edit: false,
      base: { label: 'main', ref: 'main', sha: main, repo_id: id, repo },
      head: { label: 'fix/1', ref: 'fix/1', sha: head, repo_id: id, repo },
      merge_base: main,
      due_date: '2026-06-01T10:00:00Z',
      created_at: '2026-05-01T10:00:00Z',
      updated_at: '2026-05-01T10:00:00Z',
      closed_at: null,
      pin_order: 0,
      content_version: 0,
      unread: true,
    })
    const { additions, deletions, changed_files, ...listed } = answer.body
    // Looking at one is seeing it.
    const list = async () => (await rest(users.bob, 'GET', pulls)).body
    await expect.poll(list).toEqual([{ ...listed, unread: false }])

    const grpc = grpcAs(users.bob)
    const home = { owner: 'bob', repo: 'whole' }
    const read = await grpc.getPullRequest({ ...home, index: 1n })
    expect(read).toMatchObject({ number: 1n, title: '[wip] Fix it', draft: true, changedFiles: 1n })
    expect(read.head).toMatchObject({ label: 'fix/1', sha: head, repoId: BigInt(id) })
    expect(await grpc.getPullRequestByBranches({ ...home, base: 'main', head: 'fix/1' })).toEqual(
      read,
    )
    const page = await grpc.listPullRequests(home)
    expect(page).toMatchObject({ total: 1n, limit: 30, pullRequests: [{ number: 1n }] })
    expect(page.pullRequests[0]?.additions).toBeUndefined()
  })

  it.each(['2', '0', '-1', 'one', '1x', '99999999999999999999'])(
    'numbered %j is none',
    async (index) => {
      const { pulls } = await repository(`none${index.replace('-', 'minus')}`)
      await open(users.bob, pulls.replace('/pulls', ''), 'fix')
      const { status, body } = await rest(users.bob, 'GET', `${pulls}/${index}`)
      expect([status, body.message]).toEqual([404, 'not found'])
    },
  )

  it('of another repository is not found', async () => {
    const one = await repository('one')
    const other = await repository('other')
    await open(users.bob, one.path, 'fix')
    const missing = grpcAs(users.bob).getPullRequest({ owner: 'bob', repo: 'other', index: 1n })
    expect(await refusalOf(missing)).toEqual(['NotFound', 'PULL_REQUEST_NOT_FOUND', 'not found'])
    expect((await rest(users.bob, 'GET', `${other.pulls}/1`)).status).toBe(404)
  })

  it('has no counts when its commits are lost', async () => {
    const { id, pulls } = await repository('lost')
    await store({ repository_id: id })
    const { status, body } = await rest(users.bob, 'GET', `${pulls}/1`)
    expect([status, body.head.sha, 'additions' in body]).toEqual([200, '1'.repeat(40), false])
  })

  it('has no due date when the date is beyond the calendar', async () => {
    const { path, pulls } = await repository('endless')
    for (const head of ['year', 'age']) await branch(users.bob, path, head)
    const common = { owner: 'bob', repo: 'endless', base: 'main', title: 'Some day' }
    const made = await ask(users.bob, 'POST', pulls, {
      ...common,
      head: 'year',
      deadline: '9999-12-31T23:59:59Z',
    })
    expect(made.due_date).toBeNull()
    // In JSON nobody can say so.
    const dueDate = { seconds: 10n ** 15n, nanos: 0 }
    const other = await grpcAs(users.bob).createPullRequest({ ...common, head: 'age', dueDate })
    expect([other.dueDate, (await rest(users.bob, 'GET', pulls)).body.length]).toEqual([
      undefined,
      2,
    ])
  })

  it('that is merged is closed and has the user who merged, even after that account was deleted', async () => {
    const { id, pulls } = await repository('merged')
    const merge_commit = '2'.repeat(40)
    const merge_time = Date.UTC(2026, 4, 2) / 1000
    const merger_id = await idOf(users.carol)
    const merged = {
      state: 'MERGED' as const,
      merge_commit,
      merge_time,
      merger_id,
      close_time: merge_time,
    }
    const { id: pullId } = await store({ repository_id: id, ...merged, merge_base: '3'.repeat(40) })
    const expected = {
      state: 'closed',
      merged: true,
      merged_at: '2026-05-02T00:00:00Z',
      merge_commit_sha: merge_commit,
      merged_by: expect.objectContaining({ login: 'carol' }),
      merge_base: '3'.repeat(40),
      closed_at: '2026-05-02T00:00:00Z',
      user: expect.objectContaining({ id: -1, login: 'Ghost' }),
      mergeable: false,
    }
    expect((await rest(users.bob, 'GET', `${pulls}/1`)).body).toMatchObject(expected)
    await transaction(server.app.db, (tx) => updatePullRequest(tx, pullId, { merger_id: null }))
    expect((await rest(users.bob, 'GET', `${pulls}/1`)).body.merged_by.login).toBe('Ghost')
  })

  it('tells participants whether they have seen its last changes', async () => {
    const { path, pulls } = await repository('unread')
    await ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const { unread } = await open(users.bob, path, 'fix')
    expect(unread).toBe(false)
    await ask(users.carol, 'PATCH', `${pulls}/1`, { title: 'Better' })
    const seenBy = async (who?: Actor) => (await rest(who, 'GET', pulls)).body[0].unread
    expect([await seenBy(users.bob), await seenBy(users.carol), await seenBy()]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('has its mergeability after the first read, until its base moves', async () => {
    const { path, pulls } = await repository('checked')
    await open(users.bob, path, 'fix')
    await open(users.bob, path, 'wip', 'main', { title: 'WIP: not yet' })
    const mergeable = async (number: number) =>
      (await ask(users.bob, 'GET', `${pulls}/${number}`)).mergeable
    await expect.poll(() => mergeable(1)).toBe(true)
    const content = Buffer.from('in the way\n').toString('base64')
    await ask(users.bob, 'POST', `${path}/contents/fix.txt`, { content, branch: 'main' })
    // What was found out is about another commit, at once.
    expect(await mergeable(1)).toBe(false)
    await ask(users.bob, 'PATCH', `${pulls}/2`, { title: 'Now' })
    await expect.poll(() => mergeable(2)).toBe(true)
    expect(await mergeable(1)).toBe(false)
    await ask(users.bob, 'PATCH', `${pulls}/2`, { title: '[WIP] No' })
    expect(await mergeable(2)).toBe(false)
  })

  it('tells a check that has not ended from a conflict and from other results', async () => {
    const { path, pulls } = await repository('explained')
    await open(users.bob, path, 'fix', 'main', { title: 'WIP: a fix' })
    const found = async () => {
      const { mergeable, mergeability } = await ask(users.bob, 'GET', `${pulls}/1`)
      return [mergeable, mergeability]
    }
    await expect.poll(found).toEqual([false, 'MERGEABLE'])
    await ask(users.bob, 'PATCH', `${pulls}/1`, { title: 'A fix' })
    expect(await found()).toEqual([true, 'MERGEABLE'])
    const content = Buffer.from('in the way\n').toString('base64')
    await ask(users.bob, 'POST', `${path}/contents/fix.txt`, { content, branch: 'main' })
    expect(await found()).toEqual([false, 'CHECKING'])
    await expect.poll(found).toEqual([false, 'CONFLICT'])
    const [listed] = await ask(users.bob, 'GET', pulls)
    expect(listed.mergeability).toBe('CONFLICT')
    await ask(users.bob, 'PATCH', `${pulls}/1`, { state: 'closed' })
    expect((await found())[1]).toBe('CLOSED')
  })
})

describe('the head of a pull request', () => {
  /** A repository of bob with a fork of carol's, and a pull request from there. */
  async function forked(name: string, fork: object = {}) {
    const base = await repository(name)
    const { id } = await ask(users.carol, 'POST', `${base.path}/forks`, {
      name: `${name}-of-carol`,
    })
    const path = `/repos/carol/${name}-of-carol`
    const sha = await branch(users.carol, path, 'fix')
    await open(users.carol, base.path, 'carol:fix')
    if (Object.keys(fork).length > 0) await ask(users.carol, 'PATCH', path, fork)
    return { ...base, fork: { id: id as number, path }, sha }
  }
  const headOf = async (who: Actor | undefined, pulls: string) =>
    (await rest(who, 'GET', `${pulls}/1`)).body.head

  it('may be in a fork', async () => {
    const { pulls, fork, sha } = await forked('lib')
    expect(await headOf(undefined, pulls)).toMatchObject({
      label: 'fix',
      ref: 'fix',
      sha,
      repo_id: fork.id,
      repo: { full_name: 'carol/lib-of-carol', parent: { full_name: 'bob/lib' } },
    })
  })

  it('in a private fork is hidden from others', async () => {
    const { pulls, fork, sha } = await forked('hiding', { private: true })
    const hidden = { label: 'fix', ref: 'refs/pull/1/head', sha, repo_id: -1, repo: null }
    for (const who of [
      users.bob,
      undefined,
      await tokenOf(server.url, users.carol, ['all', 'public-only']),
    ]) {
      for (const answer of [await rest(who, 'GET', `${pulls}/1`), await rest(who, 'GET', pulls)]) {
        expect(answer.status).toBe(200)
        expect([answer.body].flat()[0].head).toEqual(hidden)
        expect(JSON.stringify(answer.body)).not.toContain('hiding-of-carol')
      }
    }
    expect(await headOf(users.carol, pulls)).toMatchObject({ ref: 'fix', repo_id: fork.id })
    expect(await headOf(users.ada, pulls)).toMatchObject({ ref: 'fix', repo_id: fork.id })
  })

  it('outlives its branch and its repository', async () => {
    const { pulls, fork, sha } = await forked('outlived')
    await ask(users.carol, 'DELETE', `${fork.path}/branches/fix`)
    expect(await headOf(users.bob, pulls)).toMatchObject({
      label: 'fix',
      ref: 'refs/pull/1/head',
      sha,
      repo_id: fork.id,
    })
    await ask(users.carol, 'DELETE', fork.path)
    const gone = { label: 'fix', ref: 'refs/pull/1/head', sha, repo_id: -1, repo: null }
    expect(await headOf(users.bob, pulls)).toEqual(gone)
    expect((await rest(users.bob, 'GET', `${pulls}/1`)).body).toMatchObject({
      changed_files: 1,
      state: 'closed',
    })
  })

  it('finds the pull request in any spelling', async () => {
    const { id, path, pulls } = await forked('spelt')
    await open(users.bob, path, 'fix/1')
    await branch(users.bob, path, 'release/1')
    for (const head of ['files', 'merge/base']) await open(users.bob, path, head)
    await store({ repository_id: id, head_branch: 'fix/1', base_branch: 'release/1' })
    for (const [spelling, number] of [
      ['main/carol:fix', 1],
      ['main/CAROL:fix', 1],
      ['main/carol/spelt-of-carol:fix', 1],
      ['main/carol%2Fspelt-of-carol%3Afix', 1],
      ['main/fix/1', 2],
      ['main/fix%2F1', 2],
      ['main/bob:fix/1', 2],
      ['main/bob/spelt:fix/1', 2],
      // Words that are paths of their own behind a number.
      ['main/files', 3],
      ['main/merge/base', 4],
      ['release%2F1/fix/1', 5],
      ['release%2F1/bob:fix/1', 5],
    ]) {
      const { status, body } = await rest(undefined, 'GET', `${pulls}/${spelling}`)
      expect([spelling, status, body.number]).toEqual([spelling, 200, number])
    }
    for (const spelling of [
      'main/fix',
      'release/1/fix',
      'main/ada:fix',
      'main/nobody:fix',
      'main/carol/other:fix',
      'x/fix/1',
    ]) {
      const { status, body } = await rest(undefined, 'GET', `${pulls}/${spelling}`)
      expect([spelling, status, body.message]).toEqual([spelling, 404, 'not found'])
    }
  })

  it('in the parent finds the pull request by the name of the owner', async () => {
    const { fork, path } = await forked('upward')
    const back = await branch(users.bob, path, 'news')
    await ask(users.carol, 'POST', `${fork.path}/pulls`, {
      head: 'bob:news',
      base: 'main',
      title: 'News',
    })
    const found = await rest(undefined, 'GET', `${fork.path}/pulls/main/bob:news`)
    expect(found.body).toMatchObject({
      number: 1,
      head: { sha: back, repo: { full_name: 'bob/upward' } },
    })
  })

  it('in a private fork finds nothing for others', async () => {
    const { pulls } = await forked('unfound', { private: true })
    const find = (who: Actor | undefined) => rest(who, 'GET', `${pulls}/main/carol:fix`)
    expect([
      (await find(users.carol)).status,
      (await find(users.bob)).status,
      (await find(undefined)).status,
    ]).toEqual([200, 404, 404])
    const missing = grpcAs(users.bob).getPullRequestByBranches({
      owner: 'bob',
      repo: 'unfound',
      base: 'main',
      head: 'carol:fix',
    })
    expect(await refusalOf(missing)).toEqual(['NotFound', 'PULL_REQUEST_NOT_FOUND', 'not found'])
  })

  it('finds the open one of several, or else the latest', async () => {
    const { id, pulls } = await repository('several')
    for (const state of ['CLOSED', 'OPEN', 'MERGED'] as const) {
      await store({ repository_id: id, head_branch: 'fix', state })
    }
    const find = async () => (await rest(undefined, 'GET', `${pulls}/main/fix`)).body.number
    expect(await find()).toBe(2)
    await ask(users.bob, 'PATCH', `${pulls}/2`, { state: 'closed' })
    expect(await find()).toBe(3)
  })
})

describe('the list of pull requests', () => {
  let pulls = ''
  const labels: number[] = []
  let milestone = 0

  beforeAll(async () => {
    const made = await repository('list')
    pulls = made.pulls
    const poster_id = await idOf(users.carol)
    for (const name of ['a', 'b', 'c']) {
      labels.push(
        (await ask(users.bob, 'POST', `${made.path}/labels`, { name, color: '#00aabb' })).id,
      )
    }
    milestone = (await ask(users.bob, 'POST', `${made.path}/milestones`, { title: 'v1' })).id
    // Number, state, and the days of its creation, last change and end.
    for (const [number, state, created, updated, closed, comments] of [
      [1, 'OPEN', 1, 9, 0, 2],
      [2, 'CLOSED', 2, 8, 8, 0],
      [3, 'MERGED', 3, 7, 7, 5],
      [4, 'OPEN', 4, 4, 0, 0],
      [5, 'OPEN', 4, 5, 0, 2],
      [6, 'CLOSED', 6, 6, 9, 1],
    ] as const) {
      const day = (n: number) => Date.UTC(2026, 3, n) / 1000
      const row = await store({
        repository_id: made.id,
        state,
        title: `Number ${number}`,
        poster_id: number % 2 === 0 ? poster_id : null,
        base_branch: number < 3 ? 'release/1' : 'main',
        milestone_id: number > 4 ? milestone : null,
        comment_count: comments,
        create_time: day(created),
        update_time: day(updated),
        close_time: closed === 0 ? null : day(closed),
      })
      await transaction(server.app.db, async (tx) => {
        const carried = labels.filter((_, i) => (number >> i) % 2 === 1)
        const pairs = carried.map((label_id) => ({ issue_id: row.id, label_id }))
        if (pairs.length > 0) await tx.insertInto('issue_labels').values(pairs).execute()
      })
    }
  })

  it.each([
    ['', [5, 4, 1]],
    ['state=open', [5, 4, 1]],
    ['state=', [5, 4, 1]],
    ['state=closed', [6, 3, 2]],
    ['state=all', [6, 5, 4, 3, 2, 1]],
    // As compatible systems have it.
    ['state=merged', [6, 5, 4, 3, 2, 1]],
    ['state=all&sort=oldest', [1, 2, 3, 4, 5, 6]],
    ['state=all&sort=recentupdate', [1, 2, 3, 6, 5, 4]],
    ['state=all&sort=leastupdate', [4, 5, 6, 3, 2, 1]],
    // Open ones last.
    ['state=all&sort=recentclose', [6, 2, 3, 5, 4, 1]],
    ['state=all&sort=mostcomment', [3, 5, 1, 6, 4, 2]],
    ['state=all&sort=leastcomment', [4, 2, 6, 5, 1, 3]],
    ['state=all&sort=priority', [6, 5, 4, 3, 2, 1]],
    ['state=all&sort=constructor', [6, 5, 4, 3, 2, 1]],
    ['state=all&base_branch=release/1', [2, 1]],
    ['state=all&base_branch=release', []],
    ['base_branch=main&sort=oldest', [4, 5]],
    ['state=all&poster=carol', [6, 4, 2]],
    ['state=all&poster=CAROL', [6, 4, 2]],
    ['poster=bob', []],
    ['state=closed&poster=carol&base_branch=main', [6]],
    ['state=all&milestone=MILESTONE', [6, 5]],
    ['state=all&milestone=0', [6, 5, 4, 3, 2, 1]],
    ['state=all&milestone=none', [6, 5, 4, 3, 2, 1]],
    ['milestone=4711', []],
    ['state=all&labels=A', [5, 3, 1]],
    // Of those that have both once.
    ['state=all&labels=A&labels=B', [6, 5, 3, 2, 1]],
    ['labels=4711', []],
    ['labels=-1', []],
    ['state=all&page=2&limit=4', [2, 1]],
    ['state=all&page=3&limit=4', []],
    ['state=all&page=0&limit=0', [6, 5, 4, 3, 2, 1]],
    ['state=all&page=2&limit=1&sort=oldest', [2]],
  ])('by %j has %j', async (query, expected) => {
    const words: Record<string, number | undefined> = {
      MILESTONE: milestone,
      A: labels[0],
      B: labels[1],
    }
    const filled = query.replace(/=(MILESTONE|A|B)\b/g, (_, word: string) => `=${words[word]}`)
    const answer = await rest(undefined, 'GET', `${pulls}?${filled}`)
    expect(answer.status).toBe(200)
    expect(numbersOf(answer)).toEqual(expected)
  })

  it('has the filtered total and links', async () => {
    const page = await rest(undefined, 'GET', `${pulls}?state=all&limit=2&page=2`)
    expect(page.headers.get('x-total-count')).toBe('6')
    const at = (number: number, rel: string) =>
      `<${server.url}/api/v1${pulls}?state=all&limit=2&page=${number}>; rel="${rel}"`
    expect(page.headers.get('link')?.split(',').sort()).toEqual(
      [at(1, 'first'), at(3, 'last'), at(3, 'next'), at(1, 'prev')].sort(),
    )
    for (const [query, total] of [
      ['', 3],
      ['?state=closed', 3],
      [`?state=all&labels=${labels[0]}&labels=${labels[1]}`, 5],
      [`?state=all&labels=&labels=${labels[0]}&labels=${labels[1]}&labels=`, 5],
      ['?state=all&labels=', 6],
      ['?labels=&poster=&milestone=&base_branch=&state=&sort=&page=&limit=', 3],
      ['?labels=99999999999999999999', 0],
      ['?state=all&poster=carol&limit=1', 3],
    ]) {
      expect((await rest(undefined, 'GET', `${pulls}${query}`)).headers.get('x-total-count')).toBe(
        String(total),
      )
    }
  })

  it.each([
    ['poster=nobody', 400, 'user does not exist [uid: 0, name: nobody]', 'UNKNOWN_POSTER'],
    ['labels=bug', 500, '', 'INVALID_LABEL_ID'],
    ['labels=1,2', 500, '', 'INVALID_LABEL_ID'],
    ['labels=&labels=x', 500, '', 'INVALID_LABEL_ID'],
    ['labels=%20', 500, '', 'INVALID_LABEL_ID'],
    [
      Array.from({ length: 101 }, (_, i) => `labels=${i}`).join('&'),
      422,
      expect.any(String),
      'INVALID_FIELD',
    ],
  ])('by %.20j is refused', async (query, status, message, reason) => {
    const refused = await rest(undefined, 'GET', `${pulls}?${query}`)
    expect([refused.status, refused.body.message]).toEqual([status, message])
    const parameters = new URLSearchParams(query)
    const request = { poster: parameters.get('poster') ?? '', labels: parameters.getAll('labels') }
    const call = grpcAs(undefined).listPullRequests({ owner: 'bob', repo: 'list', ...request })
    expect((await refusalOf(call)).slice(0, 2)).toEqual(['InvalidArgument', reason])
  })

  it('by a hidden user is refused, unless they have opened a pull request there', async () => {
    const eve = {
      user: { username: 'eve', password: 'correct horse battery', email: 'eve@example.org' },
    }
    const refused = () => rest(users.bob, 'GET', `${pulls}?state=all&poster=eve`)
    const made = await rest(users.ada, 'POST', '/admin/users', {
      ...eve.user,
      must_change_password: false,
    })
    expect(made.status).toBe(201)
    await rest(users.ada, 'PATCH', '/admin/users/eve', {
      login_name: 'eve',
      source_id: 0,
      visibility: 'private',
    })
    expect((await refused()).status).toBe(400)
    expect((await rest(users.ada, 'GET', `${pulls}?poster=eve`)).status).toBe(200)
    const repository_id = (await ask(users.bob, 'GET', '/repos/bob/list')).id
    await store({ repository_id, state: 'CLOSED', poster_id: made.body.id, create_time: 0 })
    expect(numbersOf(await refused())).toEqual([7])
  })
})

describe('reading', () => {
  it.each([
    ['nobody', 'public', 200],
    ['carol', 'public', 200],
    ['read:repository', 'public', 200],
    ['write:repository', 'public', 200],
    ['read:issue', 'public', 403],
    ['public-only', 'public', 200],
    ['bob', 'private', 200],
    ['ada', 'private', 200],
    ['nobody', 'private', 404],
    ['carol', 'private', 404],
    ['read:repository', 'private', 200],
    ['public-only', 'private', 404],
    ['nobody', 'closed', 404],
    ['bob', 'closed', 404],
  ])('by %s of a repository that is %s returns %i', async (who, kind, status) => {
    const name = `reading-${kind}`
    const path = `/repos/bob/${name}`
    if ((await rest(users.bob, 'GET', path)).status === 404) {
      const made = await repository(name, { private: kind === 'private' })
      await open(users.bob, made.path, 'fix')
      if (kind === 'closed') await ask(users.bob, 'PATCH', path, { has_pull_requests: false })
    }
    const caller = await callerNamed(server.url, users, who)
    for (const place of ['', '/1', '/main/fix']) {
      const answer = await rest(caller, 'GET', `${path}/pulls${place}`)
      expect([place, answer.status]).toEqual([place, status])
      if (status === 404) expect(answer.body.message).toBe('not found')
    }
  })

  it('needs a team with access to the code, too', async () => {
    await ask(users.bob, 'POST', '/orgs', { username: 'acme' })
    await ask(users.bob, 'POST', '/orgs/acme/repos', {
      name: 'engine',
      private: true,
      auto_init: true,
    })
    const units_map = { 'repo.pulls': 'write' }
    const { id } = await ask(users.bob, 'POST', '/orgs/acme/teams', { name: 'triage', units_map })
    await ask(users.bob, 'PUT', `/teams/${id}/repos/acme/engine`)
    await ask(users.bob, 'PUT', `/teams/${id}/members/carol`)
    const read = () => rest(users.carol, 'GET', '/repos/acme/engine/pulls')
    expect((await read()).status).toBe(403)
    const call = grpcAs(users.carol).listPullRequests({ owner: 'acme', repo: 'engine' })
    expect((await refusalOf(call)).slice(0, 2)).toEqual([
      'PermissionDenied',
      'REPOSITORY_UNIT_CLOSED',
    ])
    await ask(users.bob, 'PATCH', `/teams/${id}`, {
      units_map: { ...units_map, 'repo.code': 'read' },
    })
    expect((await read()).status).toBe(200)
  })
})
