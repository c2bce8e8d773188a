import { randomBytes } from 'node:crypto'
import { type CryptoKey, decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { startBrowserSession } from '../../../../src/forge/accounts/credentials/browser-sessions.ts'
import {
  authenticateAccessToken,
  endOtherSessions,
  endSession,
  listSessions,
  refreshSession,
  type SessionGrant,
  sessionOfRefreshToken,
  startSession,
} from '../../../../src/forge/accounts/credentials/sessions.ts'
import { deleteUser, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, NO_CLIENT, type TestApp, testApp } from '../../../support/app.ts'

const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })
const DAY = 24 * 60 * 60

let app: TestApp
let ada: User
let session: SessionGrant

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  session = await startSession(app, ada, { userAgent: 'curl/8', address: '192.0.2.7' })
})

/** Signs a token like the server, except for the changes of the test case. */
function forge(
  claims: Record<string, unknown>,
  { header = {}, key = app.keys.tokenKey as CryptoKey | Uint8Array } = {},
) {
  return new SignJWT({ ...decodeJwt(session.accessToken), ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'v1', ...header })
    .sign(key)
}

async function change(user: User, changes: Parameters<typeof updateUser>[2]) {
  await transaction(app.db, (tx) => updateUser(tx, user.id, changes))
}

function sessionCount() {
  return app.db
    .selectFrom('sessions')
    .select('id')
    .execute()
    .then((rows) => rows.length)
}

describe('an access token', () => {
  it('has the claims that clients of the compatible API read', () => {
    expect(decodeProtectedHeader(session.accessToken)).toEqual({
      alg: 'HS256',
      typ: 'JWT',
      kid: 'v1',
    })
    const now = app.clock.now() / 1000
    expect(decodeJwt(session.accessToken)).toEqual({
      type: 'access',
      role: 'USER',
      status: 'NORMAL',
      username: 'ada',
      ver: 1,
      sid: session.sessionId,
      iss: 'branchline',
      aud: ['user.access-token'],
      sub: String(ada.id),
      iat: now,
      exp: now + 15 * 60,
    })
    expect(session.accessTokenExpireTime).toBe(now + 15 * 60)
  })

  it('authenticates its user for fifteen minutes', async () => {
    app.clock.advance(15 * 60 - 1)
    await expect(authenticateAccessToken(app, session.accessToken)).resolves.toMatchObject({
      user: { id: ada.id },
      sessionId: session.sessionId,
    })
    app.clock.advance(1)
    await expect(authenticateAccessToken(app, session.accessToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('takes role and state from the account, not from its claims', async () => {
    await change(ada, { role: 'ADMIN' })
    await expect(authenticateAccessToken(app, session.accessToken)).resolves.toMatchObject({
      user: { role: 'ADMIN' },
    })
    const claimsAdmin = await forge({ role: 'ADMIN' })
    await change(ada, { role: 'USER' })
    await expect(authenticateAccessToken(app, claimsAdmin)).resolves.toMatchObject({
      user: { role: 'USER' },
    })
  })

  it.each<[string, () => Promise<string> | string]>([
    ['unsigned', () => new UnsecuredJWT(decodeJwt(session.accessToken)).encode()],
    ['without its signature', () => session.accessToken.replace(/[^.]+$/, '')],
    ['signed with another key', () => forge({}, { key: randomBytes(32) })],
    [
      'signed with the raw name of the key',
      () => forge({}, { key: Buffer.from('v1'.padEnd(32, '\0')) }),
    ],
    ['of another key id', () => forge({}, { header: { kid: 'v2' } })],
    ['of another type of object', () => forge({}, { header: { typ: 'at+jwt' } })],
    ['of another issuer', () => forge({ iss: 'memos' })],
    ['for another audience', () => forge({ aud: ['user.refresh-token'] })],
    ['of another type', () => forge({ type: 'refresh' })],
    ['without expiry', () => forge({ exp: undefined })],
    ['of another user', () => forge({ sub: String(ada.id + 1) })],
    ['without a user', () => forge({ sub: undefined })],
    ['of an unknown session', () => forge({ sid: 'other' })],
    ['of an earlier token version', () => forge({ ver: 0 })],
    ['without a token version', () => forge({ ver: undefined })],
    ['that is a refresh token', () => session.refreshToken],
    ['that is no token', () => 'a.b.c'],
    ['that is nothing', () => ''],
  ])('is refused %s', async (_, text) => {
    // The unchanged token is valid.
    await expect(authenticateAccessToken(app, await forge({}))).resolves.toMatchObject({
      user: { id: ada.id },
    })
    await expect(authenticateAccessToken(app, await text())).rejects.toEqual(BAD_CREDENTIALS)
  })

  it.each<[string, () => Promise<unknown>]>([
    ['signed out', () => endSession(app, session.sessionId)],
    ['changed the password', () => change(ada, { token_version: 2 })],
    ['was archived', () => change(ada, { state: 'ARCHIVED' })],
    ['was deleted', () => transaction(app.db, (tx) => deleteUser(tx, ada.id))],
  ])('is revoked when its user %s, even after it was accepted before', async (_, happen) => {
    await authenticateAccessToken(app, session.accessToken)
    await happen()
    await expect(authenticateAccessToken(app, session.accessToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('never authenticates an account created after its own was deleted', async () => {
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    const next = await addUser(app, 'ada')
    await startSession(app, next, NO_CLIENT)
    expect(next.id).not.toBe(ada.id)
    await expect(authenticateAccessToken(app, session.accessToken)).rejects.toEqual(BAD_CREDENTIALS)
  })
})

describe('startSession', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['changed its password', () => change(ada, { token_version: 2 })],
    ['was archived', () => change(ada, { state: 'ARCHIVED' })],
    ['was deleted', () => transaction(app.db, (tx) => deleteUser(tx, ada.id))],
  ])('refuses an account that %s after the credentials were checked', async (_, happen) => {
    await endSession(app, session.sessionId)
    await happen()
    await expect(startSession(app, ada, NO_CLIENT)).rejects.toEqual(BAD_CREDENTIALS)
    expect(await sessionCount()).toBe(0)
  })

  it('keeps the hundred most recently refreshed sessions of an account', async () => {
    const bob = await addUser(app, 'bob')
    const bobs = await startSession(app, bob, NO_CLIENT)
    app.clock.advance(1)
    const second = await startSession(app, ada, NO_CLIENT)
    app.clock.advance(1)
    const refreshed = await refreshSession(app, session.refreshToken)
    app.clock.advance(1)
    for (let i = 0; i < 99; i++) await startSession(app, ada, NO_CLIENT)
    // The first session was refreshed after the second one had started.
    await expect(authenticateAccessToken(app, refreshed.accessToken)).resolves.toBeDefined()
    await expect(authenticateAccessToken(app, second.accessToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(authenticateAccessToken(app, bobs.accessToken)).resolves.toBeDefined()
    expect(await sessionCount()).toBe(101)
  })

  it('deletes expired sessions and truncates long user agents', async () => {
    app.clock.advance(30 * DAY)
    await startSession(app, ada, { userAgent: 'x'.repeat(10_000), address: '' })
    const rows = await app.db.selectFrom('sessions').selectAll().execute()
    expect(rows.map((row) => row.user_agent)).toEqual(['x'.repeat(256)])
  })
})

describe('listSessions', () => {
  it('has what is known of the client, without what is no address', async () => {
    await startSession(app, ada, { userAgent: 'git/2\u0007', address: 'unix' })
    const { sessions, total } = await listSessions(app, ada, undefined, 10)
    expect(total).toBe(2)
    expect(new Set(sessions.map((row) => `${row.user_agent} ${row.address}`))).toEqual(
      new Set(['curl/8 192.0.2.7', 'git/2 ']),
    )
  })

  it('has the session of the sign-in page for as long as its cookie is valid', async () => {
    await endSession(app, session.sessionId)
    await startBrowserSession(app, () => startSession(app, ada, NO_CLIENT))
    app.clock.advance(12 * 60 * 60 - 1)
    expect(await listSessions(app, ada, undefined, 10)).toMatchObject({ total: 1 })
    app.clock.advance(1)
    expect(await listSessions(app, ada, undefined, 10)).toMatchObject({ sessions: [], total: 0 })
  })
})

describe('refreshSession', () => {
  it('returns a new access token and a new refresh token, valid for another thirty days', async () => {
    app.clock.advance(29 * DAY)
    const next = await refreshSession(app, session.refreshToken)
    expect(next.refreshToken).not.toBe(session.refreshToken)
    expect(next.refreshTokenExpireTime).toBe(app.clock.now() / 1000 + 30 * DAY)
    await expect(authenticateAccessToken(app, next.accessToken)).resolves.toMatchObject({
      sessionId: session.sessionId,
    })
    app.clock.advance(29 * DAY)
    await expect(refreshSession(app, next.refreshToken)).resolves.toBeDefined()
  })

  it('returns the same successor to tabs that refresh at once', async () => {
    const [one, two, three] = await Promise.all([
      refreshSession(app, session.refreshToken),
      refreshSession(app, session.refreshToken),
      refreshSession(app, session.refreshToken),
    ])
    expect(two.refreshToken).toBe(one.refreshToken)
    expect(three.refreshToken).toBe(one.refreshToken)
    app.clock.advance(30)
    await expect(refreshSession(app, session.refreshToken)).resolves.toMatchObject({
      refreshToken: one.refreshToken,
    })
    await expect(refreshSession(app, one.refreshToken)).resolves.toBeDefined()
  })

  it('ends the session when a stolen token is used after its owner has refreshed', async () => {
    const stolen = session.refreshToken
    const owners = await refreshSession(app, stolen)
    app.clock.advance(31)
    await expect(refreshSession(app, stolen)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, owners.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(authenticateAccessToken(app, owners.accessToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('ends the session when the owner returns after a thief has refreshed', async () => {
    const thiefs = await refreshSession(app, session.refreshToken)
    app.clock.advance(31)
    await expect(refreshSession(app, session.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, thiefs.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('treats a token two steps back as stolen, however recent', async () => {
    const second = await refreshSession(app, session.refreshToken)
    const third = await refreshSession(app, second.refreshToken)
    await expect(refreshSession(app, session.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, third.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('does not end other sessions of the account', async () => {
    const other = await startSession(app, ada, NO_CLIENT)
    await refreshSession(app, session.refreshToken)
    app.clock.advance(31)
    await expect(refreshSession(app, session.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, other.refreshToken)).resolves.toBeDefined()
  })

  it('refuses an expired token', async () => {
    app.clock.advance(30 * DAY)
    await expect(refreshSession(app, session.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it.each<[string, () => Promise<string> | string]>([
    ['an access token', () => session.accessToken],
    ['an unsigned token', () => new UnsecuredJWT(decodeJwt(session.refreshToken)).encode()],
    [
      'a token signed with another key',
      () => forge(decodeJwt(session.refreshToken), { key: randomBytes(32) }),
    ],
    ['a token for another user', () => forge({ ...decodeJwt(session.refreshToken), sub: '999' })],
  ])('refuses %s, and the session continues', async (_, text) => {
    await expect(refreshSession(app, await text())).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, session.refreshToken)).resolves.toBeDefined()
  })

  it.each<[string, () => Promise<unknown>]>([
    ['the session has ended', () => endSession(app, session.sessionId)],
    ['the account is archived', () => change(ada, { state: 'ARCHIVED' })],
    ['the account is deleted', () => transaction(app.db, (tx) => deleteUser(tx, ada.id))],
  ])('refuses when %s', async (_, happen) => {
    await happen()
    await expect(refreshSession(app, session.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
  })
})

describe('endOtherSessions', () => {
  it('keeps the excepted session and those of other users', async () => {
    const other = await startSession(app, ada, NO_CLIENT)
    const bobs = await startSession(app, await addUser(app, 'bob'), NO_CLIENT)
    await transaction(app.db, (tx) => endOtherSessions(tx, ada.id, session.sessionId))
    await expect(refreshSession(app, other.refreshToken)).rejects.toEqual(BAD_CREDENTIALS)
    await expect(refreshSession(app, session.refreshToken)).resolves.toBeDefined()
    await expect(refreshSession(app, bobs.refreshToken)).resolves.toBeDefined()
  })

  it('ends all sessions if none is excepted', async () => {
    await startSession(app, ada, NO_CLIENT)
    await transaction(app.db, (tx) => endOtherSessions(tx, ada.id))
    expect(await sessionCount()).toBe(0)
  })
})

describe('sessionOfRefreshToken', () => {
  it('returns the session of a valid token, whether current or not', async () => {
    const next = await refreshSession(app, session.refreshToken)
    expect(await sessionOfRefreshToken(app, session.refreshToken)).toBe(session.sessionId)
    expect(await sessionOfRefreshToken(app, next.refreshToken)).toBe(session.sessionId)
    expect(await sessionOfRefreshToken(app, session.accessToken)).toBeUndefined()
  })
})

describe('the database', () => {
  it('contains no usable token', async () => {
    const rows = JSON.stringify(await app.db.selectFrom('sessions').selectAll().execute())
    expect(rows).toContain(session.sessionId)
    expect(rows).not.toContain(session.refreshToken.split('.')[2])
    expect(rows).not.toContain(session.accessToken.split('.')[2])
  })
})
