import { type DescMethod, fromJson, type JsonObject } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { IdentityProviderSchema } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type OAuthProvider,
  REDIRECT_URI,
  startOAuthProvider,
} from '../support/oauth-provider.ts'
import {
  createTestUsers,
  PASSWORD,
  signIn as signInByPassword,
  startTestServer,
  type TestServer,
  transportTo,
} from '../support/server.ts'
import { type Call, call, invoke, PROTOCOLS } from './invoke.ts'

const providers = IdentityProviderService.method
const users = UserService.method

type As = 'nobody' | 'ada' | 'bob' | 'carol' | 'ada: write:user' | 'bob: read:user'

interface Case {
  readonly name: string
  readonly as: As
  readonly call: (oauth: OAuthProvider) => Call
  /** What the answer holds, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

const CODE_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const NAME = 'identity-providers/example'

/** What an answer tells of a config, the endpoints aside, which are elsewhere in each run. */
const SHOWN = {
  clientId: CLIENT_ID,
  tokenUrl: expect.any(String),
  userInfoUrl: expect.any(String),
  fieldMapping: { identifier: 'sub', email: 'email' },
}
const EXAMPLE = { name: NAME, type: 'OAUTH2', title: 'Example', config: { oauth2Config: SHOWN } }

const configOf = ({ tokenUrl, userInfoUrl }: OAuthProvider, fields: JsonObject = {}) => ({
  oauth2Config: {
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    tokenUrl,
    userInfoUrl,
    fieldMapping: { identifier: 'sub', email: 'email' },
    ...fields,
  },
})

const list = () => call(providers.listIdentityProviders, {}, 'GET /api/v1/identity-providers')
const get = (name: string) => () =>
  call(providers.getIdentityProvider, { name }, `GET /api/v1/${name}`)
const create =
  (id: string, fields: JsonObject = {}, config: JsonObject = {}) =>
  (oauth: OAuthProvider) => {
    const json = { type: 'OAUTH2', title: 'Example', config: configOf(oauth, config), ...fields }
    const input = {
      identityProvider: fromJson(IdentityProviderSchema, json),
      identityProviderId: id,
    }
    return call(
      providers.createIdentityProvider,
      input,
      `POST /api/v1/identity-providers?identityProviderId=${encodeURIComponent(id)}`,
      json,
    )
  }
const patch =
  (name: string, paths: string[], fields: (oauth: OAuthProvider) => JsonObject) =>
  (oauth: OAuthProvider) => {
    const json = fields(oauth)
    const identityProvider = fromJson(IdentityProviderSchema, { name, ...json })
    const path = `PATCH /api/v1/${name}?updateMask=${paths.join(',')}`
    return call(
      providers.updateIdentityProvider,
      { identityProvider, updateMask: { paths } },
      path,
      json,
    )
  }
const remove = (name: string) => () =>
  call(providers.deleteIdentityProvider, { name }, `DELETE /api/v1/${name}`)

interface Exchange {
  readonly userInfo?: object | string
  readonly idpName?: string
  readonly code?: string
  readonly redirectUri?: string
  readonly codeVerifier?: string
}
const grantOf = (oauth: OAuthProvider, { userInfo = {}, ...given }: Exchange) => ({
  idpName: NAME,
  code: given.code ?? oauth.signIn(userInfo, CODE_VERIFIER),
  redirectUri: REDIRECT_URI,
  codeVerifier: CODE_VERIFIER,
  ...given,
})
const link = (user: string, exchange: Exchange) => (oauth: OAuthProvider) => {
  const body = grantOf(oauth, exchange)
  return call(
    users.createLinkedIdentity,
    { parent: `users/${user}`, ...body },
    `POST /api/v1/users/${user}/linkedIdentities`,
    body,
  )
}
const signIn = (exchange: Exchange) => (oauth: OAuthProvider) => {
  const ssoCredentials = grantOf(oauth, exchange)
  return call(
    AuthService.method.signIn,
    { credentials: { case: 'ssoCredentials', value: ssoCredentials } },
    'POST /api/v1/auth/signin',
    { ssoCredentials },
  )
}
const linked = (user: string) => () =>
  call(
    users.listLinkedIdentities,
    { parent: `users/${user}` },
    `GET /api/v1/users/${user}/linkedIdentities`,
  )
const getLinked = (name: string) => () =>
  call(users.getLinkedIdentity, { name }, `GET /api/v1/${name}`)
const unlink = (name: string) => () =>
  call(users.deleteLinkedIdentity, { name }, `DELETE /api/v1/${name}`)

const refused = (code: string, reason: string) => ({ code, reason })
const invalid = (reason: string) => refused('InvalidArgument', reason)
const anonymous = refused('Unauthenticated', 'UNAUTHENTICATED')
const denied = refused('PermissionDenied', 'PERMISSION_DENIED')
const missing = refused('NotFound', 'IDENTITY_PROVIDER_NOT_FOUND')

const BOBS = {
  name: 'users/bob/linkedIdentities/example',
  idpName: NAME,
  externUid: '9007199254740993',
}

/** Each case goes on from the one before. */
const CASES: readonly Case[] = [
  // Making providers
  { name: 'there are none', as: 'nobody', call: list, want: { message: {} } },
  { name: 'a stranger makes one', as: 'nobody', call: create('example'), want: anonymous },
  { name: 'somebody makes one', as: 'bob', call: create('example'), want: denied },
  {
    name: 'an administrator makes one by a token without the scope',
    as: 'ada: write:user',
    call: create('example'),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'an administrator makes one',
    as: 'ada',
    call: create('example'),
    want: { message: EXAMPLE },
  },
  {
    name: 'another of the same id',
    as: 'ada',
    call: create('example'),
    want: refused('AlreadyExists', 'IDENTITY_PROVIDER_ID_TAKEN'),
  },
  {
    name: 'a bad id',
    as: 'ada',
    call: create('ex ample'),
    want: invalid('INVALID_IDENTITY_PROVIDER_ID'),
  },
  {
    name: 'no type',
    as: 'ada',
    call: create('x', { type: 'TYPE_UNSPECIFIED' }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'no config',
    as: 'ada',
    call: create('x', { config: {} }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'half a config',
    as: 'ada',
    call: create('x', {}, { tokenUrl: '' }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'a filter that is none',
    as: 'ada',
    call: create('x', { identifierFilter: '(?=a)' }),
    want: invalid('INVALID_IDENTIFIER_FILTER'),
  },
  {
    name: 'a filter',
    as: 'ada',
    call: create('staff', { identifierFilter: '^staff-' }),
    want: { message: { name: 'identity-providers/staff', identifierFilter: '^staff-' } },
  },
  {
    name: 'one that nobody listens at',
    as: 'ada',
    call: create('silent', {}, { tokenUrl: 'http://127.0.0.1:1/token' }),
    want: { message: { name: 'identity-providers/silent' } },
  },
  // Reading providers
  {
    name: 'a stranger sees all, without secrets',
    as: 'nobody',
    call: list,
    want: { message: { identityProviders: [EXAMPLE, expect.anything(), expect.anything()] } },
  },
  { name: 'a stranger reads one', as: 'nobody', call: get(NAME), want: anonymous },
  { name: 'somebody reads one', as: 'bob', call: get(NAME), want: { message: EXAMPLE } },
  { name: 'an administrator reads one', as: 'ada', call: get(NAME), want: { message: EXAMPLE } },
  {
    name: 'a token without the scope',
    as: 'bob: read:user',
    call: get(NAME),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'one that does not exist',
    as: 'bob',
    call: get('identity-providers/nobody'),
    want: missing,
  },
  { name: 'in another case', as: 'bob', call: get('identity-providers/EXAMPLE'), want: missing },
  {
    name: 'an escaped slash',
    as: 'bob',
    call: get('identity-providers/a%2Fb'),
    want: invalid('INVALID_NAME'),
  },
  // Changing providers
  {
    name: 'somebody changes one',
    as: 'bob',
    call: patch(NAME, ['title'], () => ({ title: 'X' })),
    want: denied,
  },
  {
    name: 'one that does not exist is changed',
    as: 'ada',
    call: patch('identity-providers/nobody', ['title'], () => ({ title: 'X' })),
    want: missing,
  },
  {
    name: 'an unknown path',
    as: 'ada',
    call: patch(NAME, ['title', 'config.oauth2_config.colour'], () => ({ title: 'X' })),
    want: invalid('UNKNOWN_MASK_PATH'),
  },
  {
    name: 'a config without its type',
    as: 'ada',
    call: patch(NAME, ['config'], (oauth) => ({ config: configOf(oauth) })),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'a part of the config stands for all of it, and no secret for the one that is stored',
    as: 'ada',
    call: patch(NAME, ['type', 'config.oauth2Config.scopes'], (oauth) => ({
      type: 'OAUTH2',
      title: 'not named',
      config: configOf(oauth, { clientSecret: '', scopes: ['openid'] }),
    })),
    want: { message: { ...EXAMPLE, config: { oauth2Config: { ...SHOWN, scopes: ['openid'] } } } },
  },
  // Linking
  {
    name: 'whom a number identifies',
    as: 'bob',
    call: link('bob', { userInfo: '{"sub":9007199254740993}' }),
    want: { message: BOBS },
  },
  {
    name: 'the same again',
    as: 'bob',
    call: link('BOB', { userInfo: '{"sub":9007199254740993}' }),
    want: { message: BOBS },
  },
  {
    name: 'somebody else there',
    as: 'bob',
    call: link('bob', { userInfo: { sub: 'other' } }),
    want: refused('AlreadyExists', 'IDENTITY_ALREADY_LINKED'),
  },
  {
    name: 'bob as carol',
    as: 'carol',
    call: link('carol', { userInfo: { sub: '9007199254740993' } }),
    want: refused('AlreadyExists', 'IDENTITY_TAKEN'),
  },
  {
    name: 'for somebody else',
    as: 'ada',
    call: link('carol', { userInfo: { sub: 'x' } }),
    want: denied,
  },
  {
    name: 'for nobody',
    as: 'ada',
    call: link('eve', {}),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  { name: 'as a stranger', as: 'nobody', call: link('carol', {}), want: anonymous },
  {
    name: 'at no provider',
    as: 'carol',
    call: link('carol', { idpName: 'identity-providers/nobody' }),
    want: missing,
  },
  {
    name: 'at no name',
    as: 'carol',
    call: link('carol', { idpName: 'example' }),
    want: invalid('INVALID_NAME'),
  },
  {
    name: 'without a code',
    as: 'carol',
    call: link('carol', { code: '' }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'without a way back',
    as: 'carol',
    call: link('carol', { redirectUri: '' }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'with a wrong code',
    as: 'carol',
    call: link('carol', { code: 'guess' }),
    want: invalid('BAD_CREDENTIALS'),
  },
  {
    name: 'with the code of somebody who keeps the verifier',
    as: 'carol',
    call: link('carol', { codeVerifier: 'x'.repeat(43) }),
    want: invalid('BAD_CREDENTIALS'),
  },
  {
    name: 'whom nobody has named',
    as: 'carol',
    call: link('carol', { userInfo: { sub: '' } }),
    want: refused('Unavailable', 'IDENTITY_PROVIDER_UNAVAILABLE'),
  },
  {
    name: 'at a provider that is away',
    as: 'carol',
    call: link('carol', { idpName: 'identity-providers/silent' }),
    want: refused('Unavailable', 'IDENTITY_PROVIDER_UNAVAILABLE'),
  },
  {
    name: 'whom the filter does not admit',
    as: 'carol',
    call: link('carol', { idpName: 'identity-providers/staff', userInfo: { sub: 'not-staff-7' } }),
    want: refused('PermissionDenied', 'IDENTITY_REFUSED'),
  },
  // Reading identities
  {
    name: 'the owner',
    as: 'bob',
    call: linked('bob'),
    want: { message: { linkedIdentities: [BOBS] } },
  },
  {
    name: 'an administrator',
    as: 'ada',
    call: linked('bob'),
    want: { message: { linkedIdentities: [BOBS] } },
  },
  { name: 'nothing came of the refusals', as: 'ada', call: linked('carol'), want: { message: {} } },
  { name: 'others', as: 'carol', call: linked('bob'), want: denied },
  { name: 'strangers', as: 'nobody', call: linked('bob'), want: anonymous },
  { name: 'one', as: 'bob', call: getLinked(BOBS.name), want: { message: BOBS } },
  {
    name: 'one that does not exist',
    as: 'bob',
    call: getLinked('users/bob/linkedIdentities/staff'),
    want: refused('NotFound', 'LINKED_IDENTITY_NOT_FOUND'),
  },
  {
    name: 'one with no name',
    as: 'bob',
    call: getLinked('users/bob/linkedIdentities/a%2Fb'),
    want: invalid('INVALID_NAME'),
  },
  // Signing in
  {
    name: 'sign-in of a linked identity',
    as: 'nobody',
    call: signIn({ userInfo: '{"sub":"9007199254740993"}' }),
    want: {
      message: {
        user: expect.objectContaining({ name: 'users/bob' }),
        accessToken: expect.stringMatching(/^ey/),
      },
    },
  },
  {
    name: 'sign-in of somebody new, whose address is taken',
    as: 'nobody',
    call: signIn({ userInfo: { sub: 'Eve', email: 'bob@example.org' } }),
    want: {
      message: {
        user: {
          name: 'users/Eve',
          username: 'Eve',
          displayName: 'Eve',
          role: 'USER',
          state: 'NORMAL',
          createTime: expect.any(String),
          updateTime: expect.any(String),
          id: expect.any(Number),
          login: 'Eve',
          full_name: 'Eve',
          html_url: expect.stringMatching(/\/Eve$/),
          created: expect.any(String),
        },
      },
    },
  },
  {
    name: 'sign-in with a wrong code',
    as: 'nobody',
    call: signIn({ code: 'guess' }),
    want: invalid('BAD_CREDENTIALS'),
  },
  {
    name: 'sign-in without a code',
    as: 'nobody',
    call: signIn({ code: '' }),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'sign-in at no name',
    as: 'nobody',
    call: signIn({ idpName: 'x' }),
    want: invalid('INVALID_NAME'),
  },
  {
    name: 'sign-in at no provider',
    as: 'nobody',
    call: signIn({ idpName: 'identity-providers/nobody' }),
    want: missing,
  },
  {
    name: 'sign-in whom the filter does not admit',
    as: 'nobody',
    call: signIn({ idpName: 'identity-providers/staff', userInfo: { sub: 'eve' } }),
    want: refused('PermissionDenied', 'IDENTITY_REFUSED'),
  },
  {
    name: 'sign-in at a provider that is away',
    as: 'nobody',
    call: signIn({ idpName: 'identity-providers/silent' }),
    want: refused('Unavailable', 'IDENTITY_PROVIDER_UNAVAILABLE'),
  },
  // Unlinking
  {
    name: 'the only way to sign in',
    as: 'ada',
    call: unlink('users/Eve/linkedIdentities/example'),
    want: refused('FailedPrecondition', 'LAST_SIGN_IN_METHOD'),
  },
  { name: 'of somebody else', as: 'carol', call: unlink(BOBS.name), want: denied },
  {
    name: 'by a token that may only read',
    as: 'bob: read:user',
    call: unlink(BOBS.name),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  { name: 'beside a password', as: 'bob', call: unlink(BOBS.name), want: { message: {} } },
  {
    name: 'once more',
    as: 'bob',
    call: unlink(BOBS.name),
    want: refused('NotFound', 'LINKED_IDENTITY_NOT_FOUND'),
  },
  // Deleting providers
  { name: 'somebody deletes a provider', as: 'bob', call: remove(NAME), want: denied },
  {
    name: 'an administrator deletes a provider',
    as: 'ada',
    call: remove(NAME),
    want: { message: {} },
  },
  { name: 'once more', as: 'ada', call: remove(NAME), want: missing },
  { name: 'its identities are gone', as: 'ada', call: linked('Eve'), want: { message: {} } },
]

describe.each(PROTOCOLS)('identities over %s', (protocol) => {
  let server: TestServer
  let oauth: OAuthProvider
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    oauth = await startOAuthProvider()
    server = await startTestServer({ settings: { registration: 'open' } })
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
  })
  afterAll(async () => {
    await server.stop()
    await oauth.stop()
  })

  it.each(CASES)('$name ($as)', async ({ as, call: prepare, want }) => {
    const outcome = await invoke(server.url, protocol, prepare(oauth), authorization.get(as))
    expect(outcome).toEqual(
      'message' in want
        ? { message: expect.objectContaining(want.message) }
        : expect.objectContaining(want),
    )
  })

  it('logs no secret, code or token', () => {
    const log = JSON.stringify(server.logged)
    expect(log).toContain('an identity provider failed')
    expect(log).not.toMatch(/sesame|code-\d|token-\d|guess/)
    expect(log).not.toContain(CODE_VERIFIER)
  })
})

describe('the table of cases', () => {
  it('covers every method', async () => {
    const oauth = await startOAuthProvider()
    const covered = new Set<DescMethod>(CASES.map(({ call: prepare }) => prepare(oauth).method))
    await oauth.stop()
    const identities = UserService.methods.filter(({ name }) => name.includes('LinkedIdentit'))
    const methods = [...IdentityProviderService.methods, ...identities, AuthService.method.signIn]
    expect(identities).toHaveLength(4)
    expect(methods.filter((one) => !covered.has(one)).map(({ name }) => name)).toEqual([])
  })
})

describe('identities over REST', () => {
  let server: TestServer
  let oauth: OAuthProvider
  let authorization: string

  beforeAll(async () => {
    oauth = await startOAuthProvider()
    server = await startTestServer({ settings: { registration: 'open', passwordSignIn: false } })
    await createClient(UserService, transportTo(server.url, 'Connect JSON')).createUser({
      user: { username: 'ada', password: PASSWORD },
    })
    authorization = (await signInByPassword(server.url, 'ada')).authorization
    await send('POST', 'identity-providers?identityProviderId=example', providerJson())
  })
  afterAll(async () => {
    await server.stop()
    await oauth.stop()
  })

  async function send(verb: string, path: string, body?: JsonObject) {
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      method: verb,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return {
      status: response.status,
      cookie: response.headers.get('set-cookie'),
      body: await response.json(),
    }
  }

  const providerJson = () => ({ type: 'OAUTH2', title: 'Example', config: configOf(oauth) })

  it('return every field of a provider except the secret', async () => {
    const { body } = await send('GET', 'identity-providers/example')
    expect(body).toEqual({
      name: NAME,
      type: 'OAUTH2',
      title: 'Example',
      identifierFilter: '',
      config: {
        oauth2Config: {
          clientId: CLIENT_ID,
          authUrl: '',
          tokenUrl: oauth.tokenUrl,
          userInfoUrl: oauth.userInfoUrl,
          scopes: [],
          fieldMapping: { identifier: 'sub', displayName: '', email: 'email', avatarUrl: '' },
        },
      },
    })
  })

  it('use the members of the body as the mask', async () => {
    const changed = { ...providerJson(), title: 'New' }
    expect(await send('PATCH', 'identity-providers/example', changed)).toMatchObject({
      status: 200,
      body: { title: 'New' },
    })
    expect(await send('PATCH', 'identity-providers/example', {})).toMatchObject({ status: 400 })
  })

  it('start a session with a refresh cookie', async () => {
    const ssoCredentials = {
      idpName: NAME,
      code: oauth.signIn({ sub: 'Bob' }),
      redirectUri: REDIRECT_URI,
    }
    const { status, cookie, body } = await send('POST', 'auth/signin', { ssoCredentials })
    expect(status).toBe(200)
    expect(cookie).toMatch(/HttpOnly/)
    expect(body).toMatchObject({
      user: { name: 'users/Bob', role: 'USER' },
      accessToken: expect.any(String),
    })
  })

  it('include the error code of the provider, and no more of its response', async () => {
    const ssoCredentials = { idpName: NAME, code: 'guess', redirectUri: REDIRECT_URI }
    const { status, cookie, body } = await send('POST', 'auth/signin', { ssoCredentials })
    expect({ status, cookie }).toEqual({ status: 400, cookie: null })
    expect(body).toMatchObject({
      code: 3,
      details: [
        { reason: 'BAD_CREDENTIALS', metadata: { name: NAME, provider_error: 'invalid_grant' } },
      ],
    })
    expect(JSON.stringify(body)).not.toMatch(/guess|no such code/)
  })

  it('do not delete the last provider if password sign-in is disabled', async () => {
    expect(await send('DELETE', 'identity-providers/example')).toMatchObject({
      status: 400,
      body: { code: 9, details: [{ reason: 'LAST_IDENTITY_PROVIDER' }] },
    })
  })
})
