import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  signIn,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../../support/server.ts'

const withoutMail = await openForge()

const startTime = Date.parse('2026-05-01T12:00:00Z')
let now = startTime
let mailDir: string
let server: TestServer
let users: TestUsers
let rest: ReturnType<typeof restAt>

beforeAll(async () => {
  mailDir = await mkdtemp(join(tmpdir(), 'branchline-mails-'))
  server = await startTestServer({ clock: { now: () => now }, mailDir })
  users = await createTestUsers(server.url)
  rest = restAt(server.url)
})
afterAll(async () => {
  await server.stop()
  await rm(mailDir, { recursive: true })
})

/** The mails that `tokenFor` has returned a token of. */
const read = new Set<string>()

/** Returns the token of the mail to an address that is new since the last call. */
async function tokenFor(address: string): Promise<string> {
  const waiting = () => server.app.db.selectFrom('mails').select('id').execute()
  await expect.poll(waiting).toEqual([])
  for (const name of await readdir(mailDir)) {
    const mail = await readFile(join(mailDir, name), 'utf8')
    const isNew = !read.has(name) && mail.toLowerCase().includes(`to: ${address}\r\n`)
    if (!isNew) continue
    read.add(name)
    return /verify-email\?token=(\S+)\r$/m.exec(mail)?.[1] ?? ''
  }
  return expect.fail(`no new mail to ${address}`)
}

const add = (who: Actor | undefined, ...emails: string[]) =>
  rest(who, 'POST', '/user/emails', { emails })
const remove = (who: Actor, ...emails: string[]) => rest(who, 'DELETE', '/user/emails', { emails })
const verify = (who: Actor | undefined, token: string) =>
  rest(who, 'POST', '/user/emails/verify', { token })
const list = async (who: Actor) =>
  (await rest(who, 'GET', '/user/emails')).body.map(
    ({ email, verified, primary }: { email: string; verified: boolean; primary: boolean }) =>
      [email, verified && 'verified', primary && 'primary'].filter(Boolean).join(' '),
  )

/** Returns whom a commit of an address is attributed to. */
async function authorOf(repository: string, email: string): Promise<string | undefined> {
  const { body } = await rest(users.bob, 'POST', `/repos/bob/${repository}/contents/${email}.txt`, {
    content: btoa(email),
    author: { name: 'Somebody', email },
  })
  const { body: commit } = await rest(
    undefined,
    'GET',
    `/repos/bob/${repository}/git/commits/${body.commit.sha}`,
  )
  return commit.author?.login
}

describe('an additional address', () => {
  it('counts for commits once its mail was answered, and no longer when it is removed', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'attributed', auto_init: true })
    const added = await add(users.carol, 'Carol@Work.example')
    expect([added.status, added.body]).toEqual([
      201,
      [
        expect.objectContaining({ email: 'carol@example.org', primary: true, verified: true }),
        {
          email: 'Carol@Work.example',
          verified: false,
          primary: false,
          user_id: expect.any(Number),
          username: 'carol',
        },
      ],
    ])
    expect(await authorOf('attributed', 'carol@work.example')).toBeUndefined()
    const token = await tokenFor('carol@work.example')
    expect((await verify(users.carol, token)).status).toBe(204)
    expect(await list(users.carol)).toEqual([
      'carol@example.org verified primary',
      'Carol@Work.example verified',
    ])
    expect(await authorOf('attributed', 'CAROL@work.example')).toBe('carol')
    expect((await verify(users.carol, token)).status).toBe(422)
    expect((await remove(users.carol, 'carol@WORK.example')).status).toBe(204)
    expect(await authorOf('attributed', 'carol@work.EXAMPLE')).toBeUndefined()
    expect((await remove(users.carol, 'carol@work.example')).status).toBe(404)
  })

  it('is verified by its own user, in a session, in time', async () => {
    await add(users.carol, 'late@example.org')
    const token = await tokenFor('late@example.org')
    expect((await verify(undefined, token)).status).toBe(401)
    expect((await verify(users.bob, token)).status).toBe(422)
    const text = await createToken(server.url, users.carol, ['write:user'])
    const thief = { ...users.carol, authorization: `token ${text}` }
    const refused = await verify(thief, token)
    expect(refused.status).toBe(403)
    now += 181 * 60 * 1000
    const { authorization } = await signIn(server.url, 'carol')
    expect((await verify({ ...users.carol, authorization }, token)).status).toBe(422)
    now = startTime
  })

  it('is added once, and gets another mail on request', async () => {
    await add(users.carol, 'twice@example.org')
    const first = await tokenFor('twice@example.org')
    for (const known of ['Twice@example.org', 'carol@example.org']) {
      const again = await add(users.carol, 'unheard@example.org', known)
      expect([again.status, again.body.message]).toEqual([
        422,
        'the account has this e-mail address already',
      ])
    }
    expect(await list(users.carol)).not.toContain('unheard@example.org')
    const body = { emails: ['twice@example.org', 'carol@example.org'], resend: true }
    expect((await rest(users.carol, 'POST', '/user/emails', body)).status).toBe(201)
    const second = await tokenFor('twice@example.org')
    expect((await verify(users.carol, first)).status).toBe(422)
    expect((await verify(users.carol, second)).status).toBe(204)
    expect((await rest(users.carol, 'POST', '/user/emails', body)).status).toBe(201)
    expect(await list(users.carol)).toContain('twice@example.org verified')
    expect((await remove(users.carol, 'twice@example.org')).status).toBe(204)
  })

  it('belongs to whoever verifies it first, and to no other account from then on', async () => {
    // Both wait for the same mailbox, whose owner answers one of the mails.
    await add(users.bob, 'shared@example.org')
    const bobs = await tokenFor('shared@example.org')
    await add(users.carol, 'shared@example.org')
    expect((await verify(users.carol, await tokenFor('shared@example.org'))).status).toBe(204)
    const { status, body } = await verify(users.bob, bobs)
    expect([status, body.message]).toEqual([409, 'this e-mail address belongs to another account'])
    const primary = await rest(users.bob, 'PATCH', '/users/bob', { email: 'Shared@example.org' })
    expect(primary.status).toBe(409)
    const fresh = {
      username: 'fay',
      email: 'shared@example.org',
      password: 'correct horse battery',
    }
    expect((await rest(users.ada, 'POST', '/admin/users', fresh)).status).toBeGreaterThan(399)
    // The primary address of another account is not for others either, and nobody learns of it.
    expect((await add(users.carol, 'bob@example.org')).status).toBe(201)
    expect((await verify(users.carol, await tokenFor('bob@example.org'))).status).toBe(409)
  })

  it('is verified by one of two accounts that try at the same moment', async () => {
    await add(users.bob, 'race@example.org')
    const bobs = await tokenFor('race@example.org')
    await add(users.carol, 'race@example.org')
    const carols = await tokenFor('race@example.org')
    const answers = await Promise.all([verify(users.bob, bobs), verify(users.carol, carols)])
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
  })

  it('is refused when it is malformed, one of too many, or the primary one to remove', async () => {
    expect((await add(users.ada)).status).toBe(422)
    expect((await add(users.ada, 'nonsense')).status).toBe(422)
    expect((await add(undefined, 'a@example.org')).status).toBe(401)
    const kept = await remove(users.ada, 'ada@example.org')
    expect([kept.status, kept.body.message]).toEqual([
      422,
      'the primary e-mail address cannot be removed',
    ])
    expect((await remove(users.ada)).status).toBe(204)
    const many = Array.from({ length: 20 }, (_, i) => `ada${i}@example.org`)
    expect((await add(users.ada, ...many)).status).toBe(201)
    expect((await add(users.ada, 'one-more@example.org')).status).toBe(422)
    // Removal does not make room for more mails to strangers.
    expect((await remove(users.ada, ...many)).status).toBe(204)
    const limited = await add(users.ada, 'one-more@example.org')
    expect([limited.status, limited.body.message]).toEqual([
      429,
      expect.stringContaining('too many attempts'),
    ])
    expect(await list(users.ada)).toEqual(['ada@example.org verified primary'])
  })
})

describe('without mail', () => {
  it('an address is added, stays unverified, and no mail can be sent again', async () => {
    const { grpc, users: others, server: other } = withoutMail
    const emails = grpc(UserEmailService, others.bob)
    const added = await emails.addUserEmails({ emails: ['a@example.org'] })
    expect(added.emails.at(-1)).toMatchObject({ email: 'a@example.org', verified: false })
    expect(await other.app.db.selectFrom('mails').selectAll().execute()).toEqual([])
    const call = emails.addUserEmails({ emails: ['a@example.org'], resend: true })
    expect(await refusalOf(call)).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'MAIL_NOT_CONFIGURED',
    })
  })
})

describe('the settings of a user', () => {
  it('are those of the account, and change together or not at all', async () => {
    expect((await rest(undefined, 'GET', '/user/settings')).status).toBe(401)
    const before = (await rest(users.bob, 'GET', '/user/settings')).body
    expect(before).toEqual({
      full_name: '',
      website: '',
      description: '',
      location: '',
      language: '',
      theme: 'gitea-auto',
      diff_view_style: '',
      hide_email: false,
      hide_activity: false,
    })
    const change = {
      full_name: 'Bob B.',
      website: 'https://bob.example.org',
      location: 'Bern',
      language: 'de-CH',
      theme: 'dark',
      hide_email: true,
    }
    const changed = await rest(users.bob, 'PATCH', '/user/settings', change)
    expect([changed.status, changed.body]).toEqual([200, { ...before, ...change }])
    expect((await rest(users.bob, 'GET', '/user')).body).toMatchObject({
      full_name: 'Bob B.',
      website: 'https://bob.example.org',
      location: 'Bern',
      language: 'de-CH',
    })
    expect((await rest(users.bob, 'GET', '/users/bob')).body).toMatchObject({
      displayName: 'Bob B.',
    })
    for (const wrong of [{ location: 'x'.repeat(51) }, { theme: 'no theme' }, { language: '?' }]) {
      const body = { full_name: 'Changed', ...wrong }
      expect((await rest(users.bob, 'PATCH', '/user/settings', body)).status).toBe(422)
    }
    expect((await rest(users.bob, 'GET', '/user/settings')).body).toEqual({ ...before, ...change })
    const cleared = { theme: '', website: '', language: '' }
    const reset = await rest(users.bob, 'PATCH', '/user/settings', cleared)
    const defaults = { theme: 'gitea-auto', website: '', language: '' }
    expect(reset.body).toMatchObject({ ...defaults, location: 'Bern' })
    // A client that sends back what it has read changes nothing.
    await rest(users.bob, 'PATCH', '/user/settings', defaults)
    const stored = await rest(users.bob, 'GET', '/users/bob/settings/GENERAL')
    expect(stored.body.generalSetting).toMatchObject({ theme: '', locale: 'en' })
  })
})

describe('addresses that are verified at once', () => {
  const addVerified = (who: Actor, more: object, path = '/user/emails') =>
    rest(who, 'POST', path, { verified: true, ...more })

  let ada: Actor
  let bob: Actor
  let carol: Actor
  beforeAll(async () => {
    // The clock of the tests above has ended earlier sessions.
    ada = await signIn(server.url, 'ada')
    bob = await signIn(server.url, 'bob')
    carol = await signIn(server.url, 'carol')
  })

  it('are added by administrators, to the own account and by Sudo to others', async () => {
    const own = await addVerified(ada, { emails: ['ada@work.example'] })
    expect(own.status).toBe(201)
    expect(await list(ada)).toContain('ada@work.example verified')
    await add(carol, 'carol@wait.example')
    const sudo = '/user/emails?sudo=carol'
    const emails = ['carol@work.example', 'carol@wait.example']
    expect((await addVerified(ada, { emails }, sudo)).status).toBe(422)
    expect((await addVerified(ada, { emails, resend: true }, sudo)).status).toBe(201)
    expect(await list(carol)).toEqual(
      expect.arrayContaining(['carol@work.example verified', 'carol@wait.example verified']),
    )
  })

  it('are refused to others, to tokens without write:admin, and for an address of another account', async () => {
    const emails = ['new@work.example']
    expect((await addVerified(bob, { emails })).status).toBe(403)
    const token = await createToken(server.url, ada, ['write:user'])
    const narrow = { username: 'ada', authorization: `Bearer ${token}` }
    expect((await addVerified(narrow, { emails })).status).toBe(403)
    const taken = await addVerified(ada, { emails: ['bob@example.org'] })
    expect(taken.body.message).toContain('address')
    expect(taken.status).toBeGreaterThanOrEqual(400)
    expect(await list(ada)).not.toContain('bob@example.org verified')
  })
})
