import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type TestClock, testClock } from '../../support/app.ts'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../../support/server.ts'

const NEW_PASSWORD = 'another horse'

let server: TestServer
let clock: TestClock
let users: TestUsers

beforeEach(async () => {
  clock = testClock()
  server = await startTestServer({ clock })
  users = await createTestUsers(server.url)
})
afterEach(() => server.stop())

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

const get = (path: string, authorization: string) =>
  fetch(`${server.url}/api/v1/${path}`, { headers: { authorization } })
const basic = (password: string) => `Basic ${Buffer.from(`bob:${password}`).toString('base64')}`

/** Restarts the server on the same data, with a folder for mails. */
async function withMail(): Promise<() => Promise<string[]>> {
  await server.close(0)
  const mailDir = join(server.data, 'mail')
  const { stop } = server
  const again = await startTestServer({ clock, mailDir, data: server.data })
  server = {
    ...again,
    async stop() {
      await again.close(0)
      await stop()
    },
  }
  return async () => {
    await server.app.background.settled()
    const waiting = () => server.app.db.selectFrom('mails').select('id').execute()
    await expect.poll(waiting).toEqual([])
    const names = (await readdir(mailDir)).sort()
    return Promise.all(names.map((name) => readFile(join(mailDir, name), 'utf8')))
  }
}

/** Returns the token from the link in a mail. */
function tokenIn(mail = ''): string {
  return /^http\S+\?token=(\S+)\r$/m.exec(mail)?.[1] ?? ''
}

/** Starts a session of bob and returns its refresh cookie. */
async function signInForCookie(): Promise<string> {
  const response = await post('auth/signin', {
    passwordCredentials: { username: 'bob', password: PASSWORD },
  })
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Returns each way in which bob may be signed in, with its current status. */
async function surfaces() {
  const cookie = await signInForCookie()
  const { authorization } = await signIn(server.url, 'bob')
  const pat = `Bearer ${await createToken(server.url, { username: 'bob', authorization }, ['all'])}`
  return async () => ({
    access: (await get('auth/me', authorization)).status,
    refresh: (await post('auth/refresh', {}, { cookie })).status,
    oldPassword: (await get('auth/me', basic(PASSWORD))).status,
    signIn: (
      await post('auth/signin', { passwordCredentials: { username: 'bob', password: PASSWORD } })
    ).status,
    pat: (await get('auth/me', pat)).status,
  })
}

const patchBob = (body: object, authorization: string) =>
  fetch(`${server.url}/api/v1/users/bob`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  })

describe('a user who forgot the password', () => {
  it('gets a link by mail and sets a new password, which ends all sessions', async () => {
    const readMail = await withMail()
    const statuses = await surfaces()
    expect(await statuses()).toEqual({
      access: 200,
      refresh: 200,
      oldPassword: 200,
      signIn: 200,
      pat: 200,
    })

    expect((await post('auth/password:requestReset', { email: 'BOB@example.org' })).status).toBe(
      200,
    )
    const [mail, ...more] = await readMail()
    expect(more).toEqual([])
    expect(mail).toMatch(/^To: bob@example\.org\r$/m)
    expect(mail).toContain(`\r\n${server.url}/reset-password?token=`)
    const reset = await post('auth/password:reset', {
      token: tokenIn(mail),
      newPassword: NEW_PASSWORD,
    })
    expect([reset.status, await reset.json(), reset.headers.get('set-cookie')]).toEqual([
      200,
      {},
      null,
    ])

    expect(await statuses()).toEqual({
      access: 401,
      refresh: 401,
      oldPassword: 401,
      signIn: 401,
      pat: 200,
    })
    expect((await get('auth/me', basic(NEW_PASSWORD))).status).toBe(200)
    const log = JSON.stringify(server.logged)
    for (const secret of [tokenIn(mail), NEW_PASSWORD, 'bob@example.org'])
      expect(log.toLowerCase()).not.toContain(secret)
  })

  it('can use the link once, even if a thief uses it at the same time', async () => {
    const readMail = await withMail()
    await post('auth/password:requestReset', { username: 'bob' })
    const token = tokenIn((await readMail())[0])
    const attempts = Array.from({ length: 20 }, (_, i) =>
      post('auth/password:reset', { token, newPassword: `password ${i}` }),
    )
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, ...Array(19).fill(400)])
    const again = await post('auth/password:reset', { token, newPassword: NEW_PASSWORD })
    expect(again.status).toBe(400)
    expect(JSON.stringify(await again.json())).toContain('INVALID_RESET_TOKEN')
  })
})

describe('a stranger who requests resets', () => {
  it('cannot tell from the answers which accounts exist', async () => {
    const readMail = await withMail()
    const answer = async (subject: object) => {
      const response = await post('auth/password:requestReset', subject)
      const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(response.headers)
      return { status: response.status, headers, body: await response.text() }
    }
    const expected = await answer({ username: 'nobody' })
    expect(expected).toMatchObject({ status: 200, body: '{}' })
    for (const subject of [
      { username: 'carol' },
      { username: 'carol' },
      { username: 'dan' },
      { email: 'x@y.example' },
    ]) {
      expect(await answer(subject)).toEqual(expected)
    }
    // Carol exists, dan is archived.
    expect((await readMail()).map((mail) => /^To: (.*)\r$/m.exec(mail)?.[1])).toEqual([
      'carol@example.org',
    ])
  })

  it('learns first of all if no mail is configured', async () => {
    for (const username of ['bob', 'nobody']) {
      const response = await post('auth/password:requestReset', { username })
      expect(response.status).toBe(400)
      expect(JSON.stringify(await response.json())).toContain('MAIL_NOT_CONFIGURED')
    }
  })
})

describe("a thief with a user's token", () => {
  it('gets no mail to an address of their own', async () => {
    const readMail = await withMail()
    const token = `Bearer ${await createToken(server.url, users.bob, ['write:user'])}`
    expect((await patchBob({ email: 'thief@example.org' }, token)).status).toBe(200)
    await post('auth/password:requestReset', { email: 'thief@example.org' })
    await post('auth/password:requestReset', { username: 'bob' })
    expect(await readMail()).toEqual([])

    // Setting the same address again does not help, but bob can set his own.
    await patchBob({ email: 'thief@example.org' }, token)
    await post('auth/password:requestReset', { username: 'bob' })
    expect(await readMail()).toEqual([])
    await patchBob({ email: 'bob@example.org' }, (await signIn(server.url, 'bob')).authorization)
    await post('auth/password:requestReset', { username: 'bob' })
    expect((await readMail()).map((mail) => /^To: (.*)\r$/m.exec(mail)?.[1])).toEqual([
      'bob@example.org',
    ])
  })
})

describe('without mail', () => {
  it('an administrator hands over a token', async () => {
    const made = await post(
      'users/bob:createPasswordResetToken',
      {},
      { authorization: users.ada.authorization },
    )
    const { token, expireTime } = (await made.json()) as Record<string, string>
    expect(expireTime).toBe(
      new Date(clock.now() + 180 * 60 * 1000).toISOString().replace('.000', ''),
    )
    expect((await post('auth/password:reset', { token, newPassword: NEW_PASSWORD })).status).toBe(
      200,
    )
    expect((await get('auth/me', basic(NEW_PASSWORD))).status).toBe(200)
  })
})

describe('a password change', () => {
  it('ends all sessions except the current one, which needs a new access token', async () => {
    const statuses = await surfaces()
    const own = await post('auth/signin', {
      passwordCredentials: { username: 'bob', password: PASSWORD },
    })
    const cookie = own.headers.get('set-cookie')?.split(';')[0] ?? ''
    const { accessToken } = (await own.json()) as { accessToken: string }
    const change = { password: NEW_PASSWORD, currentPassword: PASSWORD }
    expect((await patchBob(change, `Bearer ${accessToken}`)).status).toBe(200)
    expect(await statuses()).toEqual({
      access: 401,
      refresh: 401,
      oldPassword: 401,
      signIn: 401,
      pat: 200,
    })
    expect((await get('auth/me', `Bearer ${accessToken}`)).status).toBe(401)
    const refreshed = (await (await post('auth/refresh', {}, { cookie })).json()) as {
      accessToken: string
    }
    expect((await get('auth/me', `Bearer ${refreshed.accessToken}`)).status).toBe(200)
  })

  it('leaves no access token that is refreshed at the same time', async () => {
    const cookies = await Promise.all(Array.from({ length: 8 }, () => signInForCookie()))
    const refresh = (cookie: string) => post('auth/refresh', {}, { cookie })
    const [changed, ...refreshes] = await Promise.all([
      patchBob({ password: NEW_PASSWORD }, users.ada.authorization),
      ...cookies.map(refresh),
    ])
    expect(changed?.status).toBe(200)
    for (const response of refreshes) {
      const { accessToken } = (await response.json()) as { accessToken?: string }
      if (accessToken !== undefined)
        expect((await get('auth/me', `Bearer ${accessToken}`)).status).toBe(401)
    }
    for (const cookie of cookies) expect((await refresh(cookie)).status).toBe(401)
  })
})

describe('archiving', () => {
  it('locks an account out everywhere, and restoring it restores no session', async () => {
    const statuses = await surfaces()
    expect((await patchBob({ state: 'ARCHIVED' }, users.ada.authorization)).status).toBe(200)
    expect(await statuses()).toEqual({
      access: 401,
      refresh: 401,
      oldPassword: 401,
      signIn: 403,
      pat: 401,
    })
    expect((await patchBob({ state: 'NORMAL' }, users.ada.authorization)).status).toBe(200)
    expect(await statuses()).toEqual({
      access: 401,
      refresh: 401,
      oldPassword: 200,
      signIn: 200,
      pat: 200,
    })
  })
})
