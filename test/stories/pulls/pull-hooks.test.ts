import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { reviewForge } from '../../support/review-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>
const receivers: Receiver[] = []

beforeAll(async () => {
  server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { webhookRetryScheduleMs: [24 * 60 * 60 * 1000] },
  })
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => server.stop())

/** An event as its receiver reads it. */
interface Told {
  readonly event: unknown
  readonly type: unknown
  // biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
  readonly payload: any
}

/** Adds a webhook of bob to a repository. */
async function hookOf(path: string, ...events: string[]) {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const config = { url: receiver.url, content_type: 'json' }
  const draft = { type: 'gitea', config, events, active: true }
  const { id } = await forge.ask(users.bob, 'POST', `${path}/hooks`, draft)
  const next = async (): Promise<Told> => {
    const { headers, body } = await receiver.next()
    const [event, type] = [headers['x-gitea-event'], headers['x-gitea-event-type']]
    return { event, type, payload: JSON.parse(body) }
  }
  return {
    id: id as number,
    next,
    /** Everything that is told until nothing more is due. */
    async all(): Promise<Told[]> {
      await forge.ask(users.bob, 'POST', `${path}/hooks/${id}/tests`)
      const all: Told[] = []
      for (;;) {
        const told = await next()
        if (told.type === 'push' && told.payload.before === told.payload.after) return all
        all.push(told)
      }
    },
  }
}

const brief = ({ event, type, payload }: Told) => [event, type, payload.action]

describe('a webhook of a repository', () => {
  it('is told of a pull request in the words of compatible systems, from opened to closed', async () => {
    const { path, pulls } = await forge.repository(users.bob, 'life')
    const label = await forge.ask(users.bob, 'POST', `${path}/labels`, {
      name: 'bug',
      color: '#ff0000',
    })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const hook = await hookOf(path, 'pull_request')
    await forge.change(users.carol, path, 'topic')
    await forge.change(users.bob, path, 'other')
    const draft = { head: 'topic', base: 'main', title: 'A change' }
    await forge.ask(users.carol, 'POST', pulls, draft)
    const pull = `${pulls}/1`
    await forge.ask(users.carol, 'PATCH', pull, { title: 'Another change' })
    await forge.ask(users.bob, 'PATCH', pull, { assignees: ['carol'] })
    await forge.ask(users.bob, 'PATCH', pull, { assignees: [] })
    await forge.ask(users.bob, 'POST', `${path}/issues/1/labels`, { labels: [label.id] })
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1/labels`)
    await forge.ask(users.bob, 'POST', `${pull}/requested_reviewers`, { reviewers: ['eve'] })
    await forge.ask(users.bob, 'DELETE', `${pull}/requested_reviewers`, { reviewers: ['eve'] })
    await forge.change(users.carol, path, 'topic', 'main', 'more.txt')
    await forge.ask(users.carol, 'PATCH', pull, { state: 'closed' })
    await forge.ask(users.carol, 'PATCH', pull, { state: 'open' })
    await expect.poll(async () => (await forge.ask(users.bob, 'GET', pull)).mergeable).toBe(true)
    await forge.ask(users.bob, 'POST', `${pull}/merge`, { Do: 'merge' })
    const all = await hook.all()
    expect(all.map(brief)).toEqual([
      ['pull_request', 'pull_request', 'opened'],
      ['pull_request', 'pull_request', 'edited'],
      ['pull_request', 'pull_request_assign', 'assigned'],
      ['pull_request', 'pull_request_assign', 'unassigned'],
      ['pull_request', 'pull_request_label', 'label_updated'],
      ['pull_request', 'pull_request_label', 'label_cleared'],
      ['pull_request', 'pull_request_review_request', 'review_requested'],
      ['pull_request', 'pull_request_review_request', 'review_request_removed'],
      ['pull_request', 'pull_request_sync', 'synchronized'],
      ['pull_request', 'pull_request', 'closed'],
      ['pull_request', 'pull_request', 'reopened'],
      ['pull_request', 'pull_request', 'closed'],
    ])
    expect(all[0]?.payload).toEqual({
      action: 'opened',
      number: 1,
      pull_request: expect.objectContaining({
        number: 1,
        head: expect.objectContaining({ ref: 'topic', sha: expect.any(String) }),
        base: expect.objectContaining({ ref: 'main' }),
      }),
      requested_reviewer: null,
      repository: expect.objectContaining({ full_name: 'bob/life' }),
      sender: expect.objectContaining({ login: 'carol' }),
      commit_id: expect.any(String),
      review: null,
    })
    expect(all[6]?.payload.requested_reviewer.login).toBe('eve')
    const { payload: merged } = all.at(-1) ?? {}
    expect(merged).toMatchObject({
      pull_request: { merged: true, merged_by: { login: 'bob' } },
      commit_id: merged.pull_request.merge_commit_sha,
      sender: { login: 'bob' },
    })
  })

  it('is told of comments and reviews, without what was deleted', async () => {
    const pull = await forge.pull('talk')
    const hook = await hookOf(pull.path, 'pull_request_comment', 'pull_request_review')
    const comments = `${pull.path}/issues/1/comments`
    const { id } = await forge.ask(users.eve, 'POST', comments, { body: 'Hm.' })
    const created = await hook.next()
    expect(brief(created)).toEqual(['issue_comment', 'pull_request_comment', 'created'])
    expect(created.payload).toMatchObject({
      comment: { id, body: 'Hm.', user: { login: 'eve' } },
      issue: { number: 1, title: 'A change' },
      pull_request: { number: 1 },
      is_pull: true,
      sender: { login: 'eve' },
    })
    await forge.ask(users.eve, 'PATCH', `${pull.path}/issues/comments/${id}`, { body: 'Fine.' })
    expect((await hook.next()).payload).toMatchObject({ action: 'edited', comment: { id } })
    await forge.ask(users.eve, 'DELETE', `${pull.path}/issues/comments/${id}`)
    expect((await hook.next()).payload).toMatchObject({
      action: 'deleted',
      comment: { id, body: '' },
    })
    const pending = await forge.review(users.bob, pull, 'PENDING')
    await forge.ask(users.bob, 'DELETE', `${pull.reviews}/${pending.id}`)
    await forge.review(users.bob, pull, 'COMMENT', 'Is this all?')
    await forge.review(users.bob, pull, 'REQUEST_CHANGES')
    await forge.review(users.bob, pull, 'APPROVED')
    const all = await hook.all()
    expect(all.map(brief)).toEqual([
      ['pull_request_comment', 'pull_request_review_comment', 'reviewed'],
      ['pull_request_rejected', 'pull_request_review_rejected', 'reviewed'],
      ['pull_request_approved', 'pull_request_review_approved', 'reviewed'],
    ])
    expect(all[0]?.payload.review).toEqual({
      type: 'pull_request_review_comment',
      content: 'Is this all?',
    })
  })

  it('is told of statuses, releases and forks', async () => {
    const { path } = await forge.repository(users.bob, 'parts')
    const hook = await hookOf(path, 'status', 'release', 'fork')
    const { commit } = await forge.ask(users.bob, 'GET', `${path}/branches/main`)
    await forge.ask(users.bob, 'POST', `${path}/statuses/${commit.id}`, {
      state: 'success',
      context: 'ci',
      description: 'All green',
      target_url: 'https://ci.example/1',
    })
    expect((await hook.next()).payload).toMatchObject({
      sha: commit.id,
      state: 'success',
      context: 'ci',
      description: 'All green',
      target_url: 'https://ci.example/1',
      commit: { id: commit.id },
      sender: { login: 'bob' },
    })
    const releases = `${path}/releases`
    const draft = { tag_name: 'v1', name: 'One', draft: true }
    const { id } = await forge.ask(users.bob, 'POST', releases, draft)
    await forge.ask(users.bob, 'PATCH', `${releases}/${id}`, { draft: false })
    const published = await hook.next()
    await forge.ask(users.bob, 'PATCH', `${releases}/${id}`, { name: 'First' })
    const updated = await hook.next()
    await forge.ask(users.bob, 'DELETE', `${releases}/${id}`)
    const deleted = await hook.next()
    expect([published, updated, deleted].map(brief)).toEqual(
      ['published', 'updated', 'deleted'].map((action) => ['release', 'release', action]),
    )
    expect(published.payload.release).toMatchObject({ id, tag_name: 'v1', name: 'One' })
    expect(updated.payload.release.name).toBe('First')
    expect(deleted.payload.release).toEqual({ id, tag_name: 'v1' })
    const fork = await forge.fork(users.carol, path)
    expect((await hook.next()).payload).toMatchObject({
      forkee: { full_name: 'bob/parts' },
      repository: { id: fork.id, full_name: 'carol/parts' },
      sender: { login: 'carol' },
    })
  })

  it('is told of pull requests only where it asked, and of parts where it named those', async () => {
    const { path, pulls } = await forge.repository(users.bob, 'named')
    const [push, only, sync] = [
      await hookOf(path, 'push'),
      await hookOf(path, 'pull_request_only'),
      await hookOf(path, 'pull_request_sync'),
    ]
    await forge.change(users.bob, path, 'topic')
    await forge.ask(users.bob, 'POST', pulls, { head: 'topic', base: 'main', title: 'One' })
    await forge.change(users.bob, path, 'topic', 'main', 'more.txt')
    expect((await push.all()).map(({ type }) => type)).toEqual(['push', 'push'])
    expect((await only.all()).map(brief)).toEqual([['pull_request', 'pull_request', 'opened']])
    expect((await sync.all()).map(brief)).toEqual([
      ['pull_request', 'pull_request_sync', 'synchronized'],
    ])
  })

  it('does not learn of a private fork that its account may not read', async () => {
    const { path, pulls } = await forge.repository(users.bob, 'upstream')
    const fork = await forge.fork(users.carol, path)
    await forge.change(users.carol, fork.path, 'secret-plan')
    await forge.ask(users.carol, 'PATCH', fork.path, { private: true })
    const hook = await hookOf(path, 'pull_request')
    const draft = { head: 'carol:secret-plan', base: 'main', title: 'A change' }
    await forge.ask(users.carol, 'POST', pulls, draft)
    expect((await hook.next()).payload.pull_request.head).toMatchObject({ repo: null, repo_id: -1 })
  })
})
