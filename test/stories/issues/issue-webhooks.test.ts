import { createClient } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { issueForge } from '../../support/issue-forge.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startTestServer, type TestServer, transportTo } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof issueForge>
const receivers: Receiver[] = []

beforeAll(async () => {
  server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { webhookRetryScheduleMs: [24 * 60 * 60 * 1000] },
  })
  users = await createPullTestUsers(server.url)
  forge = issueForge(server)
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
async function hookOf(path: string, events: string[], type = 'gitea') {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const config = { url: receiver.url, content_type: 'json', channel: '#chat' }
  const { id } = await forge.ask(users.bob, 'POST', `${path}/hooks`, {
    type,
    config,
    events,
    active: true,
  })
  const next = async (): Promise<Told> => {
    const { headers, body } = await receiver.next()
    const [event, kind] = [headers['x-gitea-event'], headers['x-gitea-event-type']]
    return { event, type: kind, payload: JSON.parse(body) }
  }
  return {
    next,
    /** Everything that is told until nothing more is due. */
    async all(): Promise<Told[]> {
      await forge.ask(users.bob, 'POST', `${path}/hooks/${id}/tests`)
      const all: Told[] = []
      for (;;) {
        const told = await next()
        if (told.type === 'push') return all
        all.push(told)
      }
    },
  }
}

const brief = ({ event, type, payload }: Told) => [event, type, payload.action]

/** Makes a repository with an issue and all changes that webhooks are told of. */
async function live(name: string, events: string[]) {
  const { id, path } = await forge.repository(users.bob, name)
  const hook = await hookOf(path, events)
  const issue = await forge.open(users.carol, id, { title: 'It breaks', body: 'Always.' })
  for (const [type, action] of [
    ['issues', 'edited'],
    ['issue_assign', 'assigned'],
    ['issue_label', 'label_updated'],
    ['issue_milestone', 'milestoned'],
  ] as const)
    await forge.change(users.bob, issue, { type: 'ISSUE_EDITED', told: [{ type, action }] })
  await forge.comment(users.eve, issue, 'Here too.')
  return { id, path, hook, issue }
}

describe('a webhook of a repository', () => {
  it.each([
    [
      ['issues'],
      [
        ['issues', 'issues', 'opened'],
        ['issues', 'issues', 'edited'],
        ['issues', 'issue_assign', 'assigned'],
        ['issues', 'issue_label', 'label_updated'],
        ['issues', 'issue_milestone', 'milestoned'],
        ['issue_comment', 'issue_comment', 'created'],
      ],
    ],
    [
      ['issues_only'],
      [
        ['issues', 'issues', 'opened'],
        ['issues', 'issues', 'edited'],
      ],
    ],
    [['issue_assign'], [['issues', 'issue_assign', 'assigned']]],
    [['issue_label'], [['issues', 'issue_label', 'label_updated']]],
    [['issue_milestone'], [['issues', 'issue_milestone', 'milestoned']]],
    [['issue_comment'], [['issue_comment', 'issue_comment', 'created']]],
    [['pull_request', 'pull_request_comment', 'release'], []],
  ])('that names %j is told of these', async (events, told) => {
    const { hook } = await live(`names-${events.join('-').replaceAll('_', '-')}`, events)
    expect((await hook.all()).map(brief)).toEqual(told)
  })

  it('gets the payload that clients know', async () => {
    const { id, path } = await forge.repository(users.bob, 'payload')
    const label = await forge.ask(users.bob, 'POST', `${path}/labels`, {
      name: 'bug',
      color: '#ff0000',
    })
    const hook = await hookOf(path, ['issues'])
    const issue = await forge.open(users.carol, id, { title: 'It breaks', body: 'Always.' })
    const opened = await hook.next()
    expect(opened.payload).toMatchObject({
      action: 'opened',
      number: 1,
      issue: {
        id: issue.id,
        number: 1,
        title: 'It breaks',
        body: 'Always.',
        state: 'open',
        user: { login: 'carol' },
        pull_request: null,
        html_url: `${server.url}/bob/payload/issues/1`,
      },
      repository: { full_name: 'bob/payload' },
      sender: { login: 'carol' },
      commit_id: '',
    })
    expect(opened.payload).not.toHaveProperty('changes')

    const before = { title: 'It breaks', body: 'Always.' }
    const edited = [{ type: 'issues', action: 'edited', before } as const]
    const present = { title: 'It broke', body: 'Once.' }
    await forge.change(users.bob, issue, { type: 'ISSUE_EDITED', told: edited }, present)
    expect((await hook.next()).payload).toMatchObject({
      action: 'edited',
      issue: present,
      changes: {
        title: { from: 'It breaks' },
        body: { from: 'Always.' },
        added_labels: null,
        removed_labels: null,
      },
    })

    const labelled = { addedLabels: [label.id], removedLabels: [] }
    const told = [{ type: 'issue_label', action: 'label_updated', ...labelled } as const]
    await forge.change(users.bob, issue, { type: 'ISSUE_EDITED', told })
    expect((await hook.next()).payload).toMatchObject({
      action: 'label_updated',
      changes: { added_labels: [label], removed_labels: [] },
    })

    const comment = await forge.comment(users.eve, issue, 'Here too.')
    const { payload } = await hook.next()
    expect(payload).toMatchObject({
      action: 'created',
      issue: { number: 1, comments: 1 },
      comment: { id: comment.id, body: 'Here too.', user: { login: 'eve' } },
      is_pull: false,
    })
    expect(payload).not.toHaveProperty('pull_request')
    // As of its sending, which is after the text was replaced and the comment deleted.
    const ofComment = { type: 'issue_comment', comment: comment.id } as const
    await forge.change(users.eve, issue, {
      type: 'ISSUE_COMMENTED',
      told: [{ ...ofComment, action: 'edited', before: { body: 'Here.' } }],
    })
    expect((await hook.next()).payload.changes).toEqual({ body: { from: 'Here.' } })
    await server.app.db.deleteFrom('issue_comments').where('id', '=', comment.id).execute()
    await forge.change(users.eve, issue, {
      type: 'ISSUE_COMMENTED',
      told: [
        { ...ofComment, action: 'edited' },
        { ...ofComment, action: 'deleted' },
      ],
    })
    const closing = [{ type: 'issues', action: 'closed', commit: 'c'.repeat(40) } as const]
    await forge.change(users.bob, issue, { type: 'ISSUE_CLOSED', told: closing })
    const rest = await hook.all()
    expect(rest.map(({ payload: { action } }) => action)).toEqual(['deleted', 'closed'])
    expect(rest[0]?.payload.comment).toEqual({ id: comment.id, body: '' })
    expect(rest[1]?.payload.commit_id).toBe('c'.repeat(40))
  })

  it('is told of a change of attachments as an edit without former values', async () => {
    const { path } = await forge.repository(users.bob, 'attached')
    const hook = await hookOf(path, ['issues', 'issue_comment'])
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'It breaks' })
    const comment = await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'a' })
    for (const place of ['1', `comments/${comment.id}`]) {
      const { status } = await fetch(
        `${server.url}/api/v1${path}/issues/${place}/assets?name=run.log`,
        { method: 'POST', headers: { authorization: users.bob.authorization }, body: 'x' },
      )
      expect(status).toBe(201)
    }
    const told = await hook.all()
    expect(told.map(brief)).toEqual([
      ['issues', 'issues', 'opened'],
      ['issue_comment', 'issue_comment', 'created'],
      ['issues', 'issues', 'edited'],
      ['issue_comment', 'issue_comment', 'edited'],
    ])
    const [, , ofIssue, ofComment] = told
    for (const edited of [ofIssue, ofComment]) expect(edited?.payload).not.toHaveProperty('changes')
    expect(ofIssue?.payload.issue.assets).toMatchObject([{ name: 'run.log' }])
    expect(ofComment?.payload.comment.assets).toMatchObject([{ name: 'run.log' }])
  })

  it('gets of a deleted issue what it was, and not its text', async () => {
    const { id, path } = await forge.repository(users.bob, 'deleted')
    const { id: labelId } = await forge.ask(users.bob, 'POST', `${path}/labels`, {
      name: 'bug',
      color: '#ff0000',
    })
    const hook = await hookOf(path, ['issues'])
    const issue = await forge.open(users.carol, id, { title: 'It breaks', body: 'A secret.' })
    await hook.next()
    const row = { issue_id: issue.id, label_id: labelId }
    await server.app.db.insertInto('issue_labels').values(row).execute()
    await forge.remove(users.bob, issue)
    const [told, ...more] = await hook.all()
    expect(more).toEqual([])
    expect(told?.payload).toMatchObject({ action: 'deleted', number: 1, sender: { login: 'bob' } })
    expect(told?.payload.issue).toEqual({
      id: issue.id,
      number: 1,
      title: 'It breaks',
      body: '',
      state: 'open',
      user: expect.objectContaining({ login: 'carol' }),
      labels: [expect.objectContaining({ name: 'bug' })],
    })
  })

  it('gets nothing about issues that are off', async () => {
    const { hook, path, issue } = await live('off', ['issues'])
    await hook.all()
    await forge.ask(users.bob, 'PATCH', path, { has_issues: false })
    await forge.close(users.bob, issue)
    await forge.remove(users.bob, issue)
    expect(await hook.all()).toEqual([])
  })

  it('writes to a chat', async () => {
    const { id, path } = await forge.repository(users.bob, 'chat')
    const hook = await hookOf(path, ['issues'], 'slack')
    const issue = await forge.open(users.carol, id, { title: 'It <breaks>' })
    const place = `${server.url}/bob/chat/issues/1`
    expect((await hook.next()).payload.text).toBe(
      `<${place}|[bob/chat] carol opened issue #1 It &lt;breaks&gt;>`,
    )
    const comment = await forge.comment(users.eve, issue, 'Here too.')
    const { payload } = await hook.next()
    expect(payload.text).toBe(
      `<${place}#issuecomment-${comment.id}|[bob/chat] eve commented on issue #1 It &lt;breaks&gt;>`,
    )
    expect(payload.attachments[0].text).toBe('Here too.')
  })
})

describe('a webhook of an account', () => {
  it('is told of issues of its repositories, as far as the account reads them', async () => {
    const receiver = await startReceiver()
    receivers.push(receiver)
    const carol = transportTo(server.url, 'gRPC', users.carol.authorization)
    const webhook = { url: receiver.url }
    await createClient(UserService, carol).createUserWebhook({ parent: 'users/carol', webhook })
    const next = async () => JSON.parse((await receiver.next()).body)
    const { id, path } = await forge.repository(users.bob, 'account')
    const issue = await forge.open(users.carol, id, { title: 'It breaks' })
    expect(await next()).toMatchObject({
      type: 'issue.opened',
      number: 1,
      sender: { login: 'carol' },
      issue: { title: 'It breaks', repository: { full_name: 'bob/account' } },
    })
    await forge.comment(users.eve, issue, 'Here too.')
    expect(await next()).toMatchObject({ type: 'issue.commented', sender: { login: 'eve' } })
    await forge.ask(users.bob, 'PATCH', path, { has_issues: false })
    await forge.close(users.bob, issue)
    await forge.ask(users.bob, 'PATCH', path, { has_issues: true })
    await forge.change(
      undefined,
      issue,
      { type: 'ISSUE_REOPENED', told: [] },
      { state: 'OPEN', title: 'It broke' },
    )
    expect(await next()).toMatchObject({
      type: 'issue.reopened',
      sender: null,
      issue: { title: 'It broke', state: 'open' },
    })
    await forge.remove(users.bob, issue)
    expect(await next()).toMatchObject({
      type: 'issue.deleted',
      number: 1,
      issue: { id: issue.id, number: 1 },
    })
  })
})
