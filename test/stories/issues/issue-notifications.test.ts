import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestClock, testClock } from '../../support/app.ts'
import { issueForge } from '../../support/issue-forge.ts'
import { settleNotices, settleThreadMails } from '../../support/notices.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let clock: TestClock
let mailDir: string
let users: PullTestUsers
let forge: ReturnType<typeof issueForge>

beforeAll(async () => {
  mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
  clock = testClock()
  server = await startTestServer({ clock, mailDir })
  users = await createPullTestUsers(server.url)
  forge = issueForge(server)
})
afterAll(async () => {
  await server.stop()
  await rm(mailDir, { recursive: true })
})

interface Thread {
  id: number
  reason: string
  subject: Record<string, string>
}

/** The threads of somebody about a repository of bob, once everybody has been told. */
async function threadsOf(who: Actor, name: string, query = ''): Promise<Thread[]> {
  await settleNotices(server.app)
  return forge.ask(who, 'GET', `/repos/bob/${name}/notifications${query}`)
}

/** The mails to somebody since the last call, headers and all. */
async function mailsTo(who: string): Promise<string[]> {
  await settleThreadMails(server.app)
  const mails: string[] = []
  for (const name of (await readdir(mailDir)).sort()) {
    const text = await readFile(join(mailDir, name), 'utf8')
    await rm(join(mailDir, name))
    if (text.includes(`To: ${who}@example.org`))
      mails.push(text.replaceAll(/\r\n(?=[ \t])/g, '').replaceAll('\r\n', '\n'))
  }
  return mails
}

describe('the thread of an issue', () => {
  it('has the form that clients know, beside those of pull requests', async () => {
    const { id, path, pulls } = await forge.repository(users.bob, 'form')
    const issue = await forge.open(users.carol, id, { title: 'It breaks' })
    const [thread] = await threadsOf(users.bob, 'form')
    expect(thread).toMatchObject({
      subject: {
        title: 'It breaks',
        url: `${server.url}/api/v1${path}/issues/1`,
        latest_comment_url: '',
        html_url: `${server.url}/bob/form/issues/1`,
        latest_comment_html_url: '',
        type: 'Issue',
        state: 'open',
      },
      reason: 'subscribed',
    })
    const comment = await forge.comment(users.eve, issue, 'Here too.')
    await forge.close(users.carol, issue)
    expect((await threadsOf(users.bob, 'form'))[0]?.subject).toMatchObject({
      latest_comment_url: `${server.url}/api/v1${path}/issues/comments/${comment.id}`,
      latest_comment_html_url: `${server.url}/bob/form/issues/1#issuecomment-${comment.id}`,
      state: 'closed',
    })
    const fork = await forge.fork(users.carol, path)
    await forge.commit(users.carol, fork.path, 'topic')
    await forge.ask(users.carol, 'POST', pulls, { head: 'carol:topic', base: 'main', title: 'Fix' })
    const types = async (query: string) =>
      (await threadsOf(users.bob, 'form', query)).map(({ subject }) => subject.type)
    expect(await types('')).toEqual(['Pull', 'Issue'])
    expect(await types('?subject-type=issue')).toEqual(['Issue'])
    expect(await types('?subject-type=pull')).toEqual(['Pull'])
    expect(await types('?subject-type=issue&subject-type=commit')).toEqual(['Issue'])
    expect(await types('?subject-type=commit')).toEqual([])
  })

  it('tells watchers and participants of what others do, and named users always', async () => {
    const { id } = await forge.repository(users.bob, 'told')
    const issue = await forge.open(users.carol, id, {}, ['eve'])
    const reasons = async () =>
      Promise.all(
        [users.bob, users.carol, users.eve].map(
          async (who) => (await threadsOf(who, 'told'))[0]?.reason,
        ),
      )
    expect(await reasons()).toEqual(['subscribed', undefined, 'mention'])
    await forge.comment(users.bob, issue, 'Why?')
    expect(await reasons()).toEqual(['subscribed', 'participating', 'mention'])
    const all = (who: Actor) => forge.ask(who, 'PUT', '/repos/bob/told/notifications')
    for (const who of [users.bob, users.carol, users.eve]) await all(who)
    const told = [{ type: 'issues', action: 'edited' } as const]
    await forge.change(users.bob, issue, { type: 'ISSUE_EDITED', told })
    await forge.change(users.bob, issue, {
      type: 'ISSUE_EDITED',
      told: [],
      concerns: { everybody: false, assignees: [await forge.idOf(users.eve)] },
    })
    expect(await reasons()).toEqual([undefined, undefined, 'assign'])
  })

  it('is there for readers of issues only, and ends with the issue', async () => {
    const { id, path } = await forge.repository(users.bob, 'rights', { private: true })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    const issue = await forge.open(users.bob, id, {}, ['carol', 'eve'])
    expect(await threadsOf(users.carol, 'rights')).toHaveLength(1)
    const count = async (who: Actor) => {
      await settleNotices(server.app)
      return (await forge.ask(who, 'GET', '/notifications/new')).new
    }
    const [carolBefore, eveBefore] = [await count(users.carol), await count(users.eve)]
    await forge.ask(users.bob, 'PATCH', path, { has_issues: false })
    expect(await threadsOf(users.carol, 'rights')).toEqual([])
    expect(await count(users.carol)).toBe(carolBefore - 1)
    await forge.comment(users.bob, issue, 'Nobody reads this, @carol.', ['carol'])
    await forge.ask(users.bob, 'PATCH', path, { has_issues: true, has_pull_requests: false })
    expect((await threadsOf(users.carol, 'rights'))[0]?.subject.latest_comment_url).toBe('')
    await forge.remove(users.bob, issue)
    expect(await threadsOf(users.carol, 'rights')).toEqual([])
    expect(await count(users.eve)).toBe(eveBefore)
  })
})

describe('a mail about an issue', () => {
  it('tells what happened, in a thread, with what filters need and a way out', async () => {
    // Those of other stories.
    await mailsTo('bob')
    const { id } = await forge.repository(users.bob, 'mail')
    const issue = await forge.open(users.carol, id, { title: 'It breaks', body: 'Always.' })
    const [first = ''] = await mailsTo('bob')
    expect(first).toContain('Subject: [bob/mail] It breaks (#1)\n')
    expect(first).toContain('carol opened the issue:\n\n> Always.\n')
    expect(first).toContain(`Issue: ${server.url}/bob/mail/issues/1\n`)
    expect(first).toContain('Message-ID: <bob/mail/issues/1@[127.0.0.1]>\n')
    expect(first).toContain('X-Gitea-Reason: subscribed\nX-Gitea-Issue-ID: 1\n')
    clock.advance(60)
    // Comment and close are one mail, since the first one waits for no other.
    await forge.comment(users.carol, issue, 'Once more.')
    await mailsTo('bob')
    await forge.comment(users.carol, issue, 'Found it.')
    await forge.close(users.carol, issue)
    expect(await mailsTo('bob')).toEqual([])
    clock.advance(60)
    server.app.signals.mails.notify()
    const [next = '', ...more] = await mailsTo('bob')
    expect(more).toEqual([])
    expect(next).toContain('Subject: Re: [bob/mail] It breaks (#1)\n')
    expect(next).toContain('In-Reply-To: <bob/mail/issues/1@[127.0.0.1]>\n')
    expect(next).toContain('carol commented:\n\n> Found it.\n\ncarol closed the issue.\n')
    const [, link = ''] = /^List-Unsubscribe: <(.*)>$/m.exec(next) ?? []
    expect((await fetch(link, { method: 'POST' })).status).toBe(200)
    await forge.comment(users.carol, issue, 'Unheard.')
    clock.advance(60)
    server.app.signals.mails.notify()
    expect(await mailsTo('bob')).toEqual([])
  })
})
