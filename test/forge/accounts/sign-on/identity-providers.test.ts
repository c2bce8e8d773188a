import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { insertLinkedIdentity } from '../../../../src/forge/accounts/sign-on/identity-providers.rows.ts'
import {
  clientSecretOf,
  createIdentityProvider,
  deleteIdentityProvider,
  getIdentityProvider,
  type IdentityProviderField,
  type IdentityProviderValues,
  listIdentityProviders,
  type OAuth2Config,
  updateIdentityProvider,
} from '../../../../src/forge/accounts/sign-on/identity-providers.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'

const CONFIG: OAuth2Config = {
  clientId: 'branchline',
  clientSecret: 'open sesame',
  authUrl: 'https://sso.example.org/authorize?prompt=login',
  tokenUrl: 'https://sso.example.org/token',
  userInfoUrl: 'http://10.0.0.7:8080/userinfo',
  scopes: ['openid', 'profile'],
  identifierClaim: 'sub',
  displayNameClaim: 'name',
  emailClaim: '',
  avatarUrlClaim: '',
}

let app: TestApp

beforeEach(async () => {
  app = await testApp()
})

function make(
  uid = 'example',
  config: Partial<OAuth2Config> = {},
  values: Partial<IdentityProviderValues> = {},
) {
  const draft = {
    title: 'Example',
    identifierFilter: '',
    config: { ...CONFIG, ...config },
    ...values,
  }
  return createIdentityProvider(app, uid, draft)
}

function update(values: Partial<IdentityProviderValues>, ...fields: IdentityProviderField[]) {
  return getIdentityProvider(app, 'example').then((provider) =>
    updateIdentityProvider(
      app,
      provider,
      { title: '', identifierFilter: '', config: undefined, ...values },
      new Set(fields),
    ),
  )
}

describe('createIdentityProvider', () => {
  it('stores the given values', async () => {
    const provider = await make()
    expect(provider).toMatchObject({
      uid: 'example',
      client_id: 'branchline',
      auth_url: 'https://sso.example.org/authorize?prompt=login',
      user_info_url: 'http://10.0.0.7:8080/userinfo',
      scopes: 'openid profile',
      identifier_claim: 'sub',
    })
    expect(await getIdentityProvider(app, 'example')).toEqual(provider)
  })

  it('encrypts the secret in the database', async () => {
    const provider = await make()
    expect(clientSecretOf(app, provider)).toBe('open sesame')
    // Also reads the column as text, in case it is stored as text.
    const dump = await sql<{
      secret: string
    }>`select cast(client_secret as text) as secret from identity_providers`.execute(app.db)
    expect(dump.rows).toHaveLength(1)
    expect(dump.rows[0]?.secret).not.toContain('sesame')
  })

  it('generates ids', async () => {
    const [one, two] = [await make(''), await make('')]
    expect(one.uid).toMatch(/^[0-9a-f]{12}$/)
    expect(two.uid).not.toBe(one.uid)
    expect((await listIdentityProviders(app)).map(({ uid }) => uid)).toEqual([one.uid, two.uid])
  })

  it.each(['a', '7', 'A-b-1', 'x'.repeat(36)])('accepts the id %s', async (uid) => {
    await expect(make(uid)).resolves.toMatchObject({ uid })
  })

  it.each(['-a', 'a-', 'a b', 'a/b', 'a_b', 'é', 'x'.repeat(37)])(
    'refuses the id %s',
    async (uid) => {
      await expect(make(uid)).rejects.toMatchObject({ reason: 'INVALID_IDENTITY_PROVIDER_ID' })
    },
  )

  it('refuses an id that is taken, even for concurrent requests', async () => {
    const outcomes = await Promise.allSettled([make('same'), make('same')])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(make('same')).rejects.toMatchObject({
      reason: 'IDENTITY_PROVIDER_ID_TAKEN',
      metadata: { id: 'same' },
    })
  })

  it.each<[string, Partial<OAuth2Config>, string]>([
    ['no client id', { clientId: '' }, 'client_id'],
    ['a client id that fits no header', { clientId: 'a\nb' }, 'client_id'],
    ['a secret that fits no header', { clientSecret: 'pässword' }, 'client_secret'],
    ['no token URL', { tokenUrl: '' }, 'token_url'],
    ['a relative URL', { tokenUrl: '/token' }, 'token_url'],
    ['a URL of another kind', { userInfoUrl: 'file:///etc/passwd' }, 'user_info_url'],
    ['a script', { authUrl: 'javascript:alert(1)' }, 'auth_url'],
    ['a URL with a password', { tokenUrl: 'https://a:b@sso.example.org/' }, 'token_url'],
    ['a URL with a name', { tokenUrl: 'https://a@sso.example.org/' }, 'token_url'],
    ['a URL with a fragment', { tokenUrl: 'https://sso.example.org/#' }, 'token_url'],
    ['a URL with blanks', { tokenUrl: ' https://sso.example.org/' }, 'token_url'],
    ['a URL that parsers straighten out', { tokenUrl: 'https:\\\\sso.example.org/' }, 'token_url'],
    ['an endless URL', { tokenUrl: `https://sso.example.org/${'x'.repeat(2048)}` }, 'token_url'],
    ['no user info URL', { userInfoUrl: '' }, 'user_info_url'],
    ['scopes in one text', { scopes: ['openid profile'] }, 'scopes'],
    ['an empty scope', { scopes: [''] }, 'scopes'],
    ['too many scopes', { scopes: Array(101).fill('a') }, 'scopes'],
    ['no claim to know people by', { identifierClaim: '' }, 'field_mapping.identifier'],
    ['an endless claim', { emailClaim: 'x'.repeat(129) }, 'field_mapping.email'],
  ])('refuses %s', async (_, config, field) => {
    await expect(make('example', config)).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: `identity_provider.config.oauth2_config.${field}` },
    })
    expect(await listIdentityProviders(app)).toEqual([])
  })

  it.each<[string, Partial<IdentityProviderValues>, object]>([
    [
      'no title',
      { title: '' },
      { reason: 'INVALID_FIELD', metadata: { field: 'identity_provider.title' } },
    ],
    ['a title of blanks', { title: ' \t' }, { reason: 'INVALID_FIELD' }],
    ['an endless title', { title: 'x'.repeat(129) }, { reason: 'INVALID_FIELD' }],
    [
      'no config',
      { config: undefined },
      { reason: 'INVALID_FIELD', metadata: { field: 'identity_provider.config' } },
    ],
    [
      'a filter that does not compile',
      { identifierFilter: '(' },
      { reason: 'INVALID_IDENTIFIER_FILTER' },
    ],
  ])('refuses %s', async (_, values, error) => {
    await expect(make('example', {}, values)).rejects.toMatchObject(error)
  })
})

describe('updateIdentityProvider', () => {
  beforeEach(() => make())

  it('changes only the named fields', async () => {
    const before = await getIdentityProvider(app, 'example')
    const values = { title: 'New', identifierFilter: '(', config: { ...CONFIG, clientId: 'other' } }
    expect(await update(values, 'title')).toEqual({ ...before, title: 'New' })
    expect(await update({ identifierFilter: '^b' }, 'identifier_filter')).toMatchObject({
      identifier_filter: '^b',
    })
    expect(await update(values)).toMatchObject({
      title: 'New',
      identifier_filter: '^b',
      client_id: 'branchline',
    })
  })

  it('replaces the whole config, and keeps the secret if none is given', async () => {
    const kept = await update(
      { config: { ...CONFIG, clientSecret: '', scopes: [], authUrl: '' } },
      'config',
    )
    expect(kept).toMatchObject({ scopes: '', auth_url: '' })
    expect(clientSecretOf(app, kept)).toBe('open sesame')
    const replaced = await update({ config: { ...CONFIG, clientSecret: 'another' } }, 'config')
    expect(clientSecretOf(app, replaced)).toBe('another')
  })

  it('changes nothing if any value is refused', async () => {
    const before = await getIdentityProvider(app, 'example')
    await expect(
      update({ title: 'New', identifierFilter: '[' }, 'title', 'identifier_filter'),
    ).rejects.toMatchObject({
      reason: 'INVALID_IDENTIFIER_FILTER',
    })
    await expect(update({ title: 'New' }, 'title', 'config')).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
    })
    expect(await getIdentityProvider(app, 'example')).toEqual(before)
  })

  it('refuses a provider that was deleted in the meantime', async () => {
    const provider = await getIdentityProvider(app, 'example')
    await deleteIdentityProvider(app, 'example')
    const values = { title: 'New', identifierFilter: '', config: undefined }
    await expect(
      updateIdentityProvider(app, provider, values, new Set(['title'])),
    ).rejects.toMatchObject({
      reason: 'IDENTITY_PROVIDER_NOT_FOUND',
      metadata: { name: 'identity-providers/example' },
    })
  })
})

describe('deleteIdentityProvider', () => {
  it('deletes the identities linked at it, and no others', async () => {
    const [one, two, bob] = [await make('one'), await make('two'), await addUser(app, 'bob')]
    await transaction(app.db, async (tx) => {
      for (const { id } of [one, two]) {
        await insertLinkedIdentity(tx, { user_id: bob.id, provider_id: id, extern_uid: 'bob' })
      }
    })
    await deleteIdentityProvider(app, 'one')
    const left = await app.db.selectFrom('linked_identities').selectAll().execute()
    expect(left).toMatchObject([{ provider_id: two.id }])
    await expect(deleteIdentityProvider(app, 'one')).rejects.toMatchObject({
      reason: 'IDENTITY_PROVIDER_NOT_FOUND',
    })
  })

  it('refuses to delete the last one if passwords are disabled', async () => {
    app = await testApp({ passwordSignIn: false })
    await make('one')
    await make('two')
    const uids = ['one', 'two']
    const outcomes = await Promise.allSettled(uids.map((uid) => deleteIdentityProvider(app, uid)))
    // Either of them may be the first one.
    const last = outcomes.findIndex(({ status }) => status === 'rejected')
    const refusal = {
      reason: 'LAST_IDENTITY_PROVIDER',
      metadata: { name: `identity-providers/${uids[last]}` },
    }
    expect(outcomes[last]).toMatchObject({ reason: refusal })
    expect(outcomes[1 - last]).toMatchObject({ status: 'fulfilled' })
  })
})
