import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signInByPassword } from '../../../../src/forge/accounts/credentials/credentials.ts'
import { createIdentityProvider } from '../../../../src/forge/accounts/sign-on/identity-providers.ts'
import { linkIdentity } from '../../../../src/forge/accounts/sign-on/linked-identities.ts'
import { signInByIdentity } from '../../../../src/forge/accounts/sign-on/sso-sign-in.ts'
import { deleteUser, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, LOCAL_PEER, PASSWORD, type TestApp, testApp } from '../../../support/app.ts'
import { providerValues } from '../../../support/identity-providers.ts'
import {
  type OAuthProvider,
  REDIRECT_URI,
  startOAuthProvider,
} from '../../../support/oauth-provider.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

let provider: OAuthProvider
let app: TestApp

beforeEach(async () => {
  provider = await startOAuthProvider()
  await start({})
  await addUser(app, 'ada', { role: 'ADMIN' })
})
afterEach(() => provider.stop())

async function start(settings: Parameters<typeof testApp>[0]) {
  app = await testApp(settings)
  await createIdentityProvider(app, 'example', providerValues(provider))
}

function grantOf(userInfo: object | string, code = provider.signIn(userInfo)) {
  return { code, redirectUri: REDIRECT_URI, codeVerifier: '' }
}

function signIn(
  userInfo: object | string,
  { code = provider.signIn(userInfo), peer = LOCAL_PEER } = {},
) {
  const client = { userAgent: 'Firefox', signal: new AbortController().signal }
  return signInByIdentity(app, peer, 'example', grantOf(userInfo, code), client)
}

function userCount() {
  return app.db
    .selectFrom('users')
    .select('id')
    .execute()
    .then((rows) => rows.length)
}

describe('sign-in of a linked identity', () => {
  it('starts a session of its account, even if registration is closed', async () => {
    await start({ registration: 'closed' })
    const bob = await addUser(app, 'bob')
    await linkIdentity(app, bob, 'example', grantOf({ sub: 'b-7' }), new AbortController().signal)
    const session = await signIn({ sub: 'b-7', name: 'Somebody Else', email: 'new@example.org' })
    // Later claims of the provider do not change the account.
    expect(session.user).toEqual(bob)
    const [row] = await app.db.selectFrom('sessions').selectAll().execute()
    expect(row).toMatchObject({ id: session.sessionId, user_agent: 'Firefox' })
  })

  it('is refused while the account is archived', async () => {
    const { user } = await signIn({ sub: 'b-7' })
    await transaction(app.db, (tx) => updateUser(tx, user.id, { state: 'ARCHIVED' }))
    await expect(signIn({ sub: 'b-7' })).rejects.toMatchObject({ reason: 'ACCOUNT_ARCHIVED' })
  })

  it('is refused once the filter no longer admits it', async () => {
    await signIn({ sub: 'b-7' })
    await app.db.updateTable('identity_providers').set({ identifier_filter: '^a' }).execute()
    await expect(signIn({ sub: 'b-7' })).rejects.toMatchObject({ reason: 'IDENTITY_REFUSED' })
  })
})

describe('sign-in of an unknown identity', () => {
  it('creates an account with the role USER and the claims of the provider', async () => {
    const { user } = await signIn({
      sub: 'Bob',
      name: 'Bob B.',
      email: 'bob@example.org',
      picture: 'https://sso.example.org/bob.png',
    })
    expect(user).toMatchObject({
      username: 'Bob',
      user_id: null,
      role: 'USER',
      state: 'NORMAL',
      display_name: 'Bob B.',
      email: 'bob@example.org',
      avatar_url: 'https://sso.example.org/bob.png',
      password_hash: '',
    })
    expect((await signIn({ sub: 'Bob' })).user.id).toBe(user.id)
  })

  it.each([
    ['an address', 'bob@example.org'],
    ['a reserved name', 'me'],
    ['a name of 41 characters', 'b'.repeat(41)],
    ['a name that is taken in another case', 'ADA'],
    ['the chosen id of an account', 'carols-id'],
  ])('creates a random username if the identifier is %s', async (_, sub) => {
    await addUser(app, 'carol', { user_id: 'carols-id' })
    const { user } = await signIn({ sub })
    expect(user.username).toMatch(UUID)
    expect(user.display_name).toBe(sub)
  })

  it('never links an account that has the same name or address', async () => {
    const bob = await addUser(app, 'bob', {
      email: 'bob@example.org',
      email_key: 'bob@example.org',
    })
    const { user } = await signIn({ sub: 'bob', email: 'BOB@example.org' })
    expect(user.id).not.toBe(bob.id)
    expect(user).toMatchObject({ email: '', email_key: '' })
  })

  it.each([
    ['that is none', { email: 'bob' }],
    ['that is no text', { email: ['bob@example.org'] }],
    ['that is not known to be theirs', { email: 'bob@example.org', email_verified: false }],
    [
      'that is not known to be theirs, in a text',
      { email: 'bob@example.org', email_verified: 'false' },
    ],
  ])('omits an address %s', async (_, claims) => {
    expect((await signIn({ sub: 'bob', ...claims })).user.email).toBe('')
  })

  it.each([
    ['a script', 'javascript:alert(1)'],
    ['a data URI', 'data:image/png;base64,iVBORw0KGgo='],
    ['endless', `https://x.example/${'x'.repeat(2048)}`],
  ])('omits a picture that is %s', async (_, picture) => {
    expect((await signIn({ sub: 'bob', picture })).user.avatar_url).toBe('')
  })

  it.each([
    ['cuts a long name', 'x'.repeat(200), 'x'.repeat(128)],
    ['straightens out a name', ' \u0000Bob\u0007\n', 'Bob'],
    ['drops half a character', 'Bob \ud83d', 'Bob'],
  ])('%s', async (_, name, stored) => {
    expect((await signIn({ sub: 'bob', name })).user.display_name).toBe(stored)
  })

  it('creates one account for concurrent first sign-ins', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => signIn({ sub: 'bob' })))
    expect(new Set(sessions.map(({ user }) => user.id)).size).toBe(1)
    expect(await userCount()).toBe(2)
  })

  it('is refused if registration is closed', async () => {
    await start({ registration: 'closed' })
    await addUser(app, 'ada', { role: 'ADMIN' })
    await expect(signIn({ sub: 'bob' })).rejects.toMatchObject({ reason: 'REGISTRATION_CLOSED' })
    expect(await userCount()).toBe(1)
  })

  it('never creates the first account, which would administer the instance', async () => {
    await start({ registration: 'open' })
    await expect(signIn({ sub: 'bob' })).rejects.toMatchObject({ reason: 'REGISTRATION_CLOSED' })
    expect(await userCount()).toBe(0)
  })

  it('works if passwords are disabled', async () => {
    await start({ registration: 'open', passwordSignIn: false })
    await addUser(app, 'ada', { role: 'ADMIN' })
    await expect(signIn({ sub: 'bob' })).resolves.toBeDefined()
  })

  it('creates an account without a password', async () => {
    const { user } = await signIn({ sub: 'bob' })
    for (const password of [' ', PASSWORD]) {
      const credentials = { username: user.username, password }
      const attempt = signInByPassword(
        app,
        LOCAL_PEER,
        credentials,
        { passcode: '', recoveryCode: '' },
        '',
      )
      await expect(attempt).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    }
  })

  it('frees the identity when the account is deleted', async () => {
    const first = await signIn({ sub: 'bob' })
    await transaction(app.db, (tx) => deleteUser(tx, first.user.id))
    const second = await signIn({ sub: 'bob' })
    expect(second.user.id).not.toBe(first.user.id)
  })
})

describe('a code that the provider refuses', () => {
  it('counts towards the peer for all sign-in methods', async () => {
    const peer = { address: '203.0.113.7', loopback: false }
    for (let i = 0; i < 50; i++) {
      await expect(signIn({}, { code: 'guess', peer })).rejects.toMatchObject({
        reason: 'CODE_REFUSED',
      })
    }
    const asked = provider.tokenRequests.length
    await expect(signIn({ sub: 'bob' }, { peer })).rejects.toMatchObject({ reason: 'RATE_LIMITED' })
    expect(provider.tokenRequests).toHaveLength(asked)
    await expect(signIn({ sub: 'bob' })).resolves.toBeDefined()
  })

  it('is the only failure that counts', async () => {
    const peer = { address: '203.0.113.7', loopback: false }
    provider.answerUserInfo = (response) => response.end('nonsense')
    for (let i = 0; i < 50; i++) {
      await expect(signIn({ sub: 'bob' }, { peer })).rejects.toMatchObject({
        reason: 'IDENTITY_PROVIDER_UNAVAILABLE',
      })
    }
    provider.answerUserInfo = undefined
    await expect(signIn({ sub: 'bob' }, { peer })).resolves.toBeDefined()
  })
})
