import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NO_PASSWORD } from '../../../../src/forge/accounts/credentials/passwords.ts'
import {
  createIdentityProvider,
  deleteIdentityProvider,
} from '../../../../src/forge/accounts/sign-on/identity-providers.ts'
import {
  linkIdentity,
  listLinkedIdentities,
  unlinkIdentity,
} from '../../../../src/forge/accounts/sign-on/linked-identities.ts'
import { deleteUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { providerValues } from '../../../support/identity-providers.ts'
import {
  type OAuthProvider,
  REDIRECT_URI,
  startOAuthProvider,
} from '../../../support/oauth-provider.ts'

let provider: OAuthProvider
let app: TestApp
let ada: User
let bob: User

beforeEach(async () => {
  provider = await startOAuthProvider()
  app = await testApp()
  await createIdentityProvider(app, 'example', providerValues(provider))
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
})
afterEach(() => provider.stop())

function link(
  user: User,
  userInfo: object | string,
  { uid = 'example', code = provider.signIn(userInfo) } = {},
) {
  const grant = { code, redirectUri: REDIRECT_URI, codeVerifier: '' }
  return linkIdentity(app, user, uid, grant, new AbortController().signal)
}

async function linkedTo(user: User) {
  return (await listLinkedIdentities(app, user)).map(
    ({ provider_uid, extern_uid }) => `${provider_uid}/${extern_uid}`,
  )
}

describe('linkIdentity', () => {
  it('links the identity that the provider returns', async () => {
    expect(await link(bob, { sub: 'b-7' })).toMatchObject({
      provider_uid: 'example',
      extern_uid: 'b-7',
    })
    expect(await linkedTo(bob)).toEqual(['example/b-7'])
  })

  it('returns the existing link for the same identity', async () => {
    const first = await link(bob, { sub: 'b-7' })
    expect(await link(bob, { sub: 'b-7' })).toEqual(first)
  })

  it('stores one row for identical concurrent requests, and returns it to all of them', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => link(bob, { sub: 'b-7' })))
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(await linkedTo(bob)).toEqual(['example/b-7'])
  })

  it('refuses an identity linked to another account, even for concurrent requests', async () => {
    const outcomes = await Promise.allSettled([link(ada, { sub: 'x' }), link(bob, { sub: 'x' })])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const other = (await linkedTo(ada)).length === 0 ? ada : bob
    await expect(link(other, { sub: 'x' })).rejects.toMatchObject({ reason: 'IDENTITY_TAKEN' })
    expect(await linkedTo(other)).toEqual([])
  })

  it('refuses a second identity at one provider, and keeps the first', async () => {
    await link(bob, { sub: 'b-7' })
    await expect(link(bob, { sub: 'b-8' })).rejects.toMatchObject({
      reason: 'IDENTITY_ALREADY_LINKED',
      metadata: { name: 'users/bob/linkedIdentities/example' },
    })
    expect(await linkedTo(bob)).toEqual(['example/b-7'])
  })

  it('distinguishes identifiers by case, and by digits that a number would lose', async () => {
    await link(ada, '{"sub":9007199254740993}')
    await link(bob, '{"sub":9007199254740992}')
    expect([await linkedTo(ada), await linkedTo(bob)]).toEqual([
      ['example/9007199254740993'],
      ['example/9007199254740992'],
    ])
    await expect(link(await addUser(app, 'carol'), { sub: 'X' })).resolves.toBeDefined()
    await expect(link(await addUser(app, 'dan'), { sub: 'x' })).resolves.toBeDefined()
  })

  it('lets one person have the same identifier at two providers', async () => {
    await createIdentityProvider(app, 'other', providerValues(provider))
    await link(bob, { sub: 'b-7' }, { uid: 'other' })
    await link(bob, { sub: 'b-7' })
    expect(await linkedTo(bob)).toEqual(['other/b-7', 'example/b-7'])
  })

  it.each([
    ['none', {}],
    ['an empty one', { sub: '' }],
    ['a list', { sub: ['bob'] }],
    ['a truth', { sub: true }],
    ['null', { sub: null }],
    ['an object', { sub: { id: 7 } }],
    ['an endless one', { sub: 'x'.repeat(256) }],
    ['one with a line break', { sub: 'bob\n' }],
    // The database would store all of these as the same text.
    ['half a character', '{"sub":"\\ud83d"}'],
  ])('refuses the identifier of a provider that returns %s', async (_, userInfo) => {
    await expect(link(bob, userInfo)).rejects.toMatchObject({
      reason: 'IDENTITY_PROVIDER_UNAVAILABLE',
      metadata: { name: 'identity-providers/example' },
    })
    expect(await linkedTo(bob)).toEqual([])
  })

  it('refuses identities that the filter does not admit', async () => {
    await createIdentityProvider(app, 'staff', {
      ...providerValues(provider),
      identifierFilter: '@example\\.org$',
    })
    await expect(link(bob, { sub: 'bob@example.com' }, { uid: 'staff' })).rejects.toMatchObject({
      reason: 'IDENTITY_REFUSED',
      metadata: { name: 'identity-providers/staff' },
    })
    await expect(link(bob, { sub: 'bob@example.org' }, { uid: 'staff' })).resolves.toBeDefined()
  })

  it.each([
    [
      'rejected the code',
      { code: 'unknown' },
      { reason: 'CODE_REFUSED', metadata: { provider_error: 'invalid_grant' } },
    ],
    ['does not exist', { uid: 'nobody' }, { reason: 'IDENTITY_PROVIDER_NOT_FOUND' }],
    ['gets no code', { code: '' }, { reason: 'INVALID_FIELD', metadata: { field: 'code' } }],
    [
      'gets a code without end',
      { code: 'x'.repeat(8193) },
      { reason: 'INVALID_FIELD', metadata: { max_length: '8192' } },
    ],
  ])('stores nothing if the provider %s', async (_, how, error) => {
    await expect(link(bob, { sub: 'bob' }, how)).rejects.toMatchObject(error)
    expect(await linkedTo(bob)).toEqual([])
  })

  it.each([
    ['the provider', 'IDENTITY_PROVIDER_NOT_FOUND', () => deleteIdentityProvider(app, 'example')],
    ['the account', 'USER_NOT_FOUND', () => transaction(app.db, (tx) => deleteUser(tx, bob.id))],
    [
      // The id may be used for a new provider with other identities.
      'the provider, and replaced',
      'IDENTITY_PROVIDER_NOT_FOUND',
      async () => {
        await deleteIdentityProvider(app, 'example')
        await createIdentityProvider(app, 'example', providerValues(provider))
      },
    ],
  ])('detects that %s was deleted during the exchange', async (_, reason, happen) => {
    provider.answerUserInfo = (response) => {
      void happen().then(() => response.end('{"sub":"b-7"}'))
    }
    await expect(link(bob, {})).rejects.toMatchObject({ reason })
    expect(await app.db.selectFrom('linked_identities').selectAll().execute()).toEqual([])
  })

  it('does not block other work while it waits for the provider', async () => {
    provider.answerUserInfo = (response) => {
      // A transaction that waited for the provider would block this one, which the provider waits
      // for.
      void addUser(app, 'carol').then(() => response.end('{"sub":"b-7"}'))
    }
    await expect(link(bob, {})).resolves.toMatchObject({ extern_uid: 'b-7' })
  })
})

describe('unlinkIdentity', () => {
  it('frees the identity for any account', async () => {
    await link(bob, { sub: 'x' })
    await unlinkIdentity(app, bob, 'example')
    expect(await linkedTo(bob)).toEqual([])
    await expect(link(ada, { sub: 'x' })).resolves.toBeDefined()
    await expect(unlinkIdentity(app, bob, 'example')).rejects.toMatchObject({
      reason: 'LINKED_IDENTITY_NOT_FOUND',
      metadata: { name: 'users/bob/linkedIdentities/example' },
    })
  })

  it('keeps the last way to sign in, even for concurrent requests', async () => {
    await createIdentityProvider(app, 'other', providerValues(provider))
    const eve = await addUser(app, 'eve', { password_hash: NO_PASSWORD })
    await link(eve, { sub: 'x' })
    await link(eve, { sub: 'x' }, { uid: 'other' })
    const uids = ['example', 'other']
    const outcomes = await Promise.allSettled(uids.map((uid) => unlinkIdentity(app, eve, uid)))
    // Either of them may be the first one.
    const last = outcomes.findIndex(({ status }) => status === 'rejected')
    const refusal = {
      reason: 'LAST_SIGN_IN_METHOD',
      metadata: { name: `users/eve/linkedIdentities/${uids[last]}` },
    }
    expect(outcomes[last]).toMatchObject({ reason: refusal })
    expect(outcomes[1 - last]).toMatchObject({ status: 'fulfilled' })
  })

  it.each([
    // A password that the account may not use does not count.
    ['USER', 'rejected'],
    ['ADMIN', 'fulfilled'],
  ] as const)('with passwords restricted to administrators, is %s: %s', async (role, status) => {
    app = await testApp({ passwordSignIn: false })
    await createIdentityProvider(app, 'example', providerValues(provider))
    const eve = await addUser(app, 'eve', { role })
    await link(eve, { sub: 'x' })
    const [outcome] = await Promise.allSettled([unlinkIdentity(app, eve, 'example')])
    expect(outcome?.status).toBe(status)
  })
})
