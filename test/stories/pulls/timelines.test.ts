import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

interface Entry {
  readonly id: number
  readonly type: string
  readonly body: string
  readonly review_id: number
  readonly user: { readonly login: string }
  readonly label: { readonly name: string } | null
  readonly assignee: { readonly login: string } | null
  readonly assignee_team: { readonly name: string } | null
  readonly removed_assignee: boolean
  readonly milestone: { readonly title: string } | null
  readonly old_milestone: { readonly title: string } | null
}

/** Returns the entries of one type, in the order in which they happened. */
async function entriesOf(
  who: Actor | undefined,
  { path }: Pick<ReviewedPull, 'path'>,
  type: string,
): Promise<Entry[]> {
  const entries: Entry[] = await forge.ask(who, 'GET', `${path}/issues/1/timeline?limit=50`)
  return entries.filter((entry) => entry.type === type).sort((a, b) => a.id - b.id)
}

const addLabel = async (path: string, name: string, fields: object = {}): Promise<number> =>
  (await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: '#00aabb', ...fields })).id

describe('the timeline of a pull request', () => {
  it('has the labels that come and go', async () => {
    const pull = await forge.pull('labelled')
    const bug = await addLabel(pull.path, 'bug')
    const [low, high] = [
      await addLabel(pull.path, 'priority/low', { exclusive: true }),
      await addLabel(pull.path, 'priority/high', { exclusive: true }),
    ]
    const labels = `${pull.path}/issues/1/labels`
    await forge.ask(users.carol, 'POST', labels, { labels: [bug, low] })
    // What is there already is no change.
    await forge.ask(users.carol, 'POST', labels, { labels: [bug] })
    await forge.ask(users.bob, 'POST', labels, { labels: [high] })
    await forge.ask(users.bob, 'PATCH', pull.pull, { labels: [high] })
    const told = (await entriesOf(undefined, pull, 'label')).map((entry) => [
      entry.user.login,
      entry.label?.name,
      entry.body,
      entry.removed_assignee,
    ])
    expect(told).toEqual([
      ['carol', 'bug', '1', false],
      ['carol', 'priority/low', '1', false],
      ['bob', 'priority/low', '', false],
      ['bob', 'priority/high', '1', false],
      ['bob', 'bug', '', false],
    ])
    await forge.ask(users.bob, 'DELETE', `${pull.path}/labels/${bug}`)
    expect(await entriesOf(undefined, pull, 'label')).toMatchObject([
      { label: null, body: '1' },
      { label: { name: 'priority/low' } },
      { label: { name: 'priority/low' } },
      { label: { name: 'priority/high' } },
      { label: null, body: '' },
    ])
  })

  it('has the assignees and milestones that come and go', async () => {
    const pull = await forge.pull('assigned')
    const milestone = async (title: string): Promise<number> =>
      (await forge.ask(users.bob, 'POST', `${pull.path}/milestones`, { title })).id
    const [first, second] = [await milestone('first'), await milestone('second')]
    const edit = (fields: object) => forge.ask(users.bob, 'PATCH', pull.pull, fields)
    await edit({ assignees: ['carol'], milestone: first })
    await edit({ assignees: ['carol', 'eve'], milestone: second })
    await edit({ assignees: ['eve'], milestone: second })
    expect(
      (await entriesOf(undefined, pull, 'assignees')).map((entry) => [
        entry.user.login,
        entry.assignee?.login,
        entry.removed_assignee,
      ]),
    ).toEqual([
      ['bob', 'carol', false],
      ['bob', 'eve', false],
      ['bob', 'carol', true],
    ])
    expect(await entriesOf(undefined, pull, 'milestone')).toMatchObject([
      { old_milestone: null, milestone: { title: 'first' }, user: { login: 'bob' } },
      { old_milestone: { title: 'first' }, milestone: { title: 'second' } },
    ])
  })

  it('begins with what a pull request was opened with', async () => {
    const { path, pulls } = await forge.repository(users.bob, 'complete')
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await forge.change(users.carol, path, 'topic')
    const label = await addLabel(path, 'bug')
    const { id } = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'first' })
    await forge.ask(users.carol, 'POST', pulls, {
      head: 'topic',
      base: 'main',
      title: 'A change',
      labels: [label],
      milestone: id,
      assignees: ['carol'],
      reviewers: ['bob'],
    })
    expect(await entriesOf(undefined, { path }, 'label')).toMatchObject([
      { label: { name: 'bug' }, body: '1', user: { login: 'carol' } },
    ])
    expect(await entriesOf(undefined, { path }, 'milestone')).toMatchObject([
      { milestone: { title: 'first' } },
    ])
    expect(await entriesOf(undefined, { path }, 'assignees')).toMatchObject([
      { assignee: { login: 'carol' }, removed_assignee: false },
    ])
    expect(await entriesOf(undefined, { path }, 'review_request')).toMatchObject([
      { assignee: { login: 'bob' }, assignee_team: null, removed_assignee: false },
    ])
  })

  it('has requests for reviews once each, and their withdrawal', async () => {
    const pull = await forge.pull('asked')
    const ask = (method: string, reviewers: string[]) =>
      forge.ask(users.carol, method, pull.requested, { reviewers })
    await ask('POST', ['bob', 'eve'])
    await ask('POST', ['bob'])
    await ask('DELETE', ['eve'])
    await ask('DELETE', ['eve'])
    expect(
      (await entriesOf(undefined, pull, 'review_request')).map((entry) => [
        entry.user.login,
        entry.assignee?.login,
        entry.removed_assignee,
      ]),
    ).toEqual([
      ['carol', 'bob', false],
      ['carol', 'eve', false],
      ['carol', 'eve', true],
    ])
  })

  it('has due dates that come, move and go', async () => {
    const pull = await forge.pull('due')
    const edit = (fields: object) => forge.ask(users.bob, 'PATCH', pull.pull, fields)
    await edit({ due_date: '2026-05-31T10:00:00Z' })
    // The same day is no change, nor is another title.
    await edit({ due_date: '2026-05-31T12:00:00Z', title: 'Another title' })
    await edit({ due_date: '2026-06-01T00:00:00Z' })
    await edit({ unset_due_date: true })
    await edit({ unset_due_date: true })
    const told = async (type: string) =>
      (await entriesOf(undefined, pull, type)).map(({ user, body }) => [user.login, body])
    expect(await told('added_deadline')).toEqual([['bob', '2026-05-31']])
    expect(await told('modified_deadline')).toEqual([['bob', '2026-06-01|2026-05-31']])
    expect(await told('removed_deadline')).toEqual([['bob', '2026-06-01']])
  })

  it('has the dismissals of reviews, with their reasons', async () => {
    const pull = await forge.pull('dismissed')
    const { id } = await forge.review(users.bob, pull, 'APPROVED')
    const dismiss = `${pull.reviews}/${id}/dismissals`
    await forge.ask(users.bob, 'POST', dismiss, { message: 'too early' })
    await forge.ask(users.bob, 'POST', `${pull.reviews}/${id}/undismissals`)
    const told = await entriesOf(undefined, pull, 'dismiss_review')
    expect(told).toMatchObject([{ body: 'too early', review_id: id, user: { login: 'bob' } }])
    expect(await entriesOf(undefined, pull, 'review')).toMatchObject([{ review_id: id }])
  })

  it('tells forced pushes from others', async () => {
    const pull = await forge.pull('forced')
    const topic = `${pull.path}/branches/topic`
    const tip = async () => (await forge.ask(users.bob, 'GET', topic)).commit.id
    const first = await tip()
    const second = await forge.change(users.bob, pull.path, 'topic', 'main', 'more.txt')
    await forge.ask(users.bob, 'PUT', topic, { new_commit_id: first, force: true })
    const entries = await forge.ask(users.bob, 'GET', `${pull.path}/issues/1/timeline`)
    const pushes = entries.filter(({ type }: { type: string }) => type === 'pull_push')
    expect(pushes).toMatchObject([
      { body: '', old_commit_sha: first, ref_commit_sha: second },
      { is_force_push: true, old_commit_sha: second, ref_commit_sha: first },
    ])
    expect(pushes[0]).not.toHaveProperty('is_force_push')
    expect(JSON.parse(pushes[1].body)).toEqual({ is_force_push: true, commit_ids: [second, first] })
  })

  it('names a team only to those who may see the team', async () => {
    const { ask } = forge
    await ask(users.bob, 'POST', '/orgs', { username: 'guild' })
    const team = await ask(users.bob, 'POST', '/orgs/guild/teams', {
      name: 'watch',
      permission: 'read',
      units: ['repo.code', 'repo.pulls'],
    })
    await ask(users.bob, 'POST', '/orgs/guild/repos', { name: 'tower', auto_init: true })
    const path = '/repos/guild/tower'
    await ask(users.bob, 'PUT', `/teams/${team.id}/repos/guild/tower`)
    await forge.change(users.bob, path, 'topic')
    const request = { head: 'topic', base: 'main', title: 'A change' }
    await ask(users.bob, 'POST', `${path}/pulls`, request)
    const requested = `${path}/pulls/1/requested_reviewers`
    await ask(users.bob, 'POST', requested, { team_reviewers: ['watch'] })
    await ask(users.bob, 'DELETE', requested, { team_reviewers: ['watch'] })
    expect(await entriesOf(users.bob, { path }, 'review_request')).toMatchObject([
      { assignee: null, assignee_team: { name: 'watch' }, removed_assignee: false },
      { assignee: null, assignee_team: { name: 'watch' }, removed_assignee: true },
    ])
    expect(await entriesOf(users.eve, { path }, 'review_request')).toMatchObject([
      { assignee: null, assignee_team: null },
      { assignee: null, assignee_team: null },
    ])
  })
})
