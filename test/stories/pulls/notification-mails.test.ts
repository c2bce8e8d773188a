import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestClock, testClock } from '../../support/app.ts'
import { settleThreadMails } from '../../support/notices.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let clock: TestClock
let mailDir: string
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
  clock = testClock()
  server = await startTestServer({ clock, mailDir })
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(async () => {
  await server.stop()
  await rm(mailDir, { recursive: true })
})

/** A mail as it was sent, with unfolded headers. */
interface SentMail {
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Returns the mails that were sent since the last call, by the address of the receiver. */
async function sentMails(): Promise<Map<string, SentMail[]>> {
  await settleThreadMails(server.app)
  const byReceiver = new Map<string, SentMail[]>()
  for (const name of (await readdir(mailDir)).sort()) {
    const path = join(mailDir, name)
    const text = await readFile(path, 'utf8')
    await rm(path)
    const end = text.indexOf('\r\n\r\n')
    const lines = text
      .slice(0, end)
      .replaceAll(/\r\n(?=[ \t])/g, '')
      .split('\r\n')
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
      }),
    )
    const to = headers.get('to') ?? ''
    const mail = { headers, body: text.slice(end + 4).replaceAll('\r\n', '\n') }
    byReceiver.set(to, [...(byReceiver.get(to) ?? []), mail])
  }
  return byReceiver
}

const mailsTo = async (who: 'bob' | 'carol' | 'eve') =>
  (await sentMails()).get(`${who}@example.org`) ?? []

/** Lets time pass, after which further mails about a pull request may be sent. */
async function passAMinute() {
  clock.advance(60)
  server.app.signals.mails.notify()
}

const say = (who: Actor, path: string, body: string) =>
  forge.ask(who, 'POST', `${path}/issues/1/comments`, { body })

/** The link in a mail that ends notifications, as the path on the server. */
function linkIn(mail: SentMail | undefined): string {
  const [, link = ''] = /^<(.*)>$/.exec(mail?.headers.get('list-unsubscribe') ?? '') ?? []
  return link
}

const wish = (who: Actor, name: string, email_notifications: string) =>
  forge.rest(who, 'PATCH', `/users/${name}/settings/GENERAL?updateMask=emailNotifications`, {
    generalSetting: { emailNotifications: email_notifications },
  })

describe('a mail about a pull request', () => {
  it('tells what happened, in a thread and with a way out', async () => {
    const { path } = await forge.pull('told', {}, { body: 'Please look.\nSoon.' })
    const [opened] = await mailsTo('bob')
    expect(opened?.headers.get('subject')).toBe('[bob/told] A change (#1)')
    expect(opened?.body).toContain('carol opened the pull request:\n\n> Please look.\n> Soon.\n')
    expect(opened?.body).toContain(`${server.url}/bob/told/pulls/1`)
    expect(opened?.headers.get('list-id')).toBe('"bob/told" <told.bob.127.0.0.1>')
    expect(opened?.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    expect(linkIn(opened)).toMatch(`${server.url}/-/unsubscribe?token=`)
    expect(opened?.body).toContain(linkIn(opened))
    expect(opened?.headers.get('in-reply-to')).toBeUndefined()

    await passAMinute()
    await say(users.carol, path, 'And again.')
    const [next] = await mailsTo('bob')
    expect(next?.headers.get('subject')).toBe('Re: [bob/told] A change (#1)')
    expect(next?.body).toContain('carol commented:\n\n> And again.\n')
    const root = opened?.headers.get('message-id')
    expect(next?.headers.get('in-reply-to')).toBe(root)
    expect(next?.headers.get('references')).toBe(root)
    expect(next?.headers.get('message-id')).not.toBe(root)
  })

  it('has what was said within a minute together, without what was deleted', async () => {
    const { path } = await forge.pull('burst')
    await sentMails()
    await say(users.carol, path, 'First.')
    const gone = await say(users.carol, path, 'A secret.')
    await say(users.carol, path, `Third. ${'x'.repeat(5_000)}`)
    expect(await mailsTo('bob')).toEqual([])
    await forge.ask(users.carol, 'DELETE', `${path}/issues/comments/${gone.id}`)
    await passAMinute()
    const mails = await mailsTo('bob')
    expect(mails).toHaveLength(1)
    expect(mails[0]?.body).toMatch(/> First\.\n\ncarol commented:\n\n> Third\. /)
    expect(mails[0]?.body).not.toContain('secret')
    expect(mails[0]?.body).toContain('[…]')
    for (const line of mails[0]?.body.split('\n') ?? [])
      expect(Buffer.byteLength(line)).toBeLessThan(998)
  })

  it('is not sent about what the user has read meanwhile', async () => {
    const { path } = await forge.pull('seen')
    await sentMails()
    await say(users.carol, path, 'Hm.')
    await settleThreadMails(server.app)
    await forge.ask(users.bob, 'PUT', '/repos/bob/seen/notifications')
    await passAMinute()
    expect(await mailsTo('bob')).toEqual([])
  })

  it('is not sent after access has ended', async () => {
    const { path } = await forge.pull('private', { private: true })
    await say(users.bob, path, 'For carol.')
    expect(await mailsTo('carol')).toHaveLength(1)
    await say(users.bob, path, 'Not for carol.')
    await settleThreadMails(server.app)
    await forge.ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
    await passAMinute()
    expect(await mailsTo('carol')).toEqual([])
    // Nothing waits for the day on which access returns.
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    await passAMinute()
    expect(await mailsTo('carol')).toEqual([])
  })

  it('cannot be forged by a title', async () => {
    await forge.pull('forged', {}, { title: 'Hi\r\nBcc: eve@example.org', body: '-- \nThe server' })
    const [mail] = await mailsTo('bob')
    expect(mail?.headers.has('bcc')).toBe(false)
    expect(mail?.body).toContain('> --\n> The server')
  })

  it('goes to who wants it', async () => {
    const { path } = await forge.pull('wanted')
    await sentMails()
    expect((await wish(users.bob, 'bob', 'onmention')).status).toBe(200)
    await passAMinute()
    await say(users.carol, path, 'To nobody.')
    expect(await mailsTo('bob')).toEqual([])
    await say(users.carol, path, 'To @bob.')
    expect((await mailsTo('bob'))[0]?.body).toContain('you were mentioned')
    expect((await wish(users.bob, 'bob', 'disabled')).status).toBe(200)
    await passAMinute()
    await say(users.carol, path, 'To @bob again.')
    expect(await mailsTo('bob')).toEqual([])
    expect((await wish(users.bob, 'bob', 'sometimes')).status).toBe(400)
    expect((await wish(users.bob, 'bob', 'enabled')).status).toBe(200)
    await forge.ask(users.bob, 'PUT', '/notifications?all=true')
  })
})

describe('the link in a mail', () => {
  const post = (link: string, body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(link, { method: 'POST', headers: { 'content-type': type }, body })
  const isTold = async (path: string) =>
    (await forge.ask(users.bob, 'GET', `${path}/issues/1/subscriptions/check`)).subscribed

  it('changes nothing when it is opened, and says nothing of the pull request', async () => {
    const { path } = await forge.pull('hidden', { private: true }, { title: 'Unheard of' })
    const link = linkIn((await mailsTo('bob'))[0])
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(link, { method })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('referrer-policy')).toBe('same-origin')
      expect(await response.text()).not.toMatch(/Unheard|bob|hidden/)
    }
    expect(await isTold(path)).toBe(true)
    expect(Buffer.from(link.split('=')[1] ?? '', 'base64url').toString('latin1')).not.toMatch(
      /\[\d+,\d+\]/,
    )
  })

  it('ends the mails about the pull request with one click and without a sign-in', async () => {
    const { path } = await forge.pull('over')
    const link = linkIn((await mailsTo('bob'))[0])
    await say(users.carol, path, 'Too late.')
    await settleThreadMails(server.app)
    const response = await post(link, 'List-Unsubscribe=One-Click')
    expect([response.status, response.redirected]).toEqual([200, false])
    expect(await isTold(path)).toBe(false)
    await passAMinute()
    // Neither what waited nor what comes is mailed, a mention included.
    await say(users.carol, path, 'Are you there, @bob?')
    expect(await mailsTo('bob')).toEqual([])
    expect(await forge.ask(users.bob, 'GET', '/repos/bob/over/notifications')).toMatchObject([
      { reason: 'mention' },
    ])
    // A second click, and a form of another type, do no harm.
    expect((await post(link, '--x--', 'multipart/form-data; boundary=x')).status).toBe(200)
  })

  it('ends all mails on the wish of the user', async () => {
    const { path } = await forge.pull('silence')
    const link = linkIn((await mailsTo('bob'))[0])
    expect((await post(link, 'end=all-mails')).status).toBe(200)
    await passAMinute()
    await say(users.carol, path, 'Hello @bob.')
    expect(await mailsTo('bob')).toEqual([])
    expect(await isTold(path)).toBe(true)
    expect((await wish(users.bob, 'bob', 'enabled')).status).toBe(200)
  })

  it('is refused when it is not of this server, or is sent by another method', async () => {
    await forge.pull('strange')
    const link = linkIn((await mailsTo('bob'))[0])
    const changed = link.slice(0, -4) + (link.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    for (const wrong of [changed, `${server.url}/-/unsubscribe`, `${link}${'A'.repeat(500)}`]) {
      expect((await fetch(wrong)).status).toBe(404)
      expect((await post(wrong, 'List-Unsubscribe=One-Click')).status).toBe(404)
    }
    const removed = await fetch(link, { method: 'DELETE' })
    expect([removed.status, removed.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  })

  it('has nothing to end after its account was deleted', async () => {
    const { path } = await forge.pull('gone')
    await forge.ask(users.eve, 'PUT', `${path}/issues/1/subscriptions/eve`)
    await say(users.carol, path, 'Bye.')
    const link = linkIn((await mailsTo('eve'))[0])
    await forge.ask(users.ada, 'DELETE', '/admin/users/eve')
    expect((await post(link, 'List-Unsubscribe=One-Click')).status).toBe(200)
  })
})
