import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type Call, call, invoke, PROTOCOLS } from './invoke.ts'

const { method } = UserService

type As = 'nobody' | 'ada' | 'bob' | 'bob: read:user' | 'bob: public-only'

interface Case {
  readonly name: string
  readonly as: As
  readonly call: Call
  /** What the answer is, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

const list = (user: string, query: { pageSize?: number; pageToken?: string } = {}) => {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return call(
    method.listUserSettings,
    { parent: `users/${user}`, ...query },
    `GET /api/v1/users/${user}/settings?${text}`,
  )
}
const get = (user: string, key: string) => {
  const name = `users/${user}/settings/${key}`
  return call(method.getUserSetting, { name }, `GET /api/v1/${name}`)
}
const patch = (
  key: string,
  generalSetting: Record<string, string> | undefined,
  paths: string[],
) => {
  const name = `users/bob/settings/${key}`
  return call(
    method.updateUserSetting,
    {
      setting: {
        name,
        ...(generalSetting && { value: { case: 'generalSetting', value: generalSetting } }),
      },
      updateMask: { paths },
    },
    `PATCH /api/v1/${name}?updateMask=${paths.join(',')}`,
    generalSetting ? { generalSetting } : {},
  )
}

const refused = (code: string, reason: string) => ({ code, reason })
const invalid = (reason: string) => refused('InvalidArgument', reason)
const denied = refused('PermissionDenied', 'PERMISSION_DENIED')

const general = (fields: Record<string, string>) => ({
  name: 'users/bob/settings/GENERAL',
  generalSetting: fields,
})
const DEFAULTS = general({ locale: 'en', memoVisibility: 'PRIVATE' })
const WEBHOOKS = { name: 'users/bob/settings/WEBHOOKS', webhooksSetting: {} }

/** Each case goes on from the one before. */
const CASES: readonly Case[] = [
  // Who
  {
    name: 'the owner, who never wrote any',
    as: 'bob',
    call: get('bob', 'GENERAL'),
    want: { message: DEFAULTS },
  },
  {
    name: 'by his name in another case',
    as: 'bob',
    call: get('BOB', 'GENERAL'),
    want: { message: DEFAULTS },
  },
  { name: 'webhooks', as: 'bob', call: get('bob', 'WEBHOOKS'), want: { message: WEBHOOKS } },
  { name: 'an administrator', as: 'ada', call: get('bob', 'GENERAL'), want: denied },
  { name: 'an administrator lists', as: 'ada', call: list('bob'), want: denied },
  {
    name: 'a stranger',
    as: 'nobody',
    call: get('bob', 'GENERAL'),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  {
    name: 'of nobody',
    as: 'bob',
    call: get('nobody', 'GENERAL'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'a token that may read',
    as: 'bob: read:user',
    call: get('bob', 'GENERAL'),
    want: { message: DEFAULTS },
  },
  {
    name: 'a token that may only read',
    as: 'bob: read:user',
    call: patch('GENERAL', { locale: 'fr' }, ['locale']),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a token for public data',
    as: 'bob: public-only',
    call: get('bob', 'GENERAL'),
    want: refused('PermissionDenied', 'PUBLIC_ONLY_TOKEN'),
  },
  // Keys
  {
    name: 'a key in lower case',
    as: 'bob',
    call: get('bob', 'general'),
    want: invalid('INVALID_NAME'),
  },
  {
    name: 'a key that clients of later versions know',
    as: 'bob',
    call: get('bob', 'TAGS'),
    want: invalid('INVALID_NAME'),
  },
  {
    name: 'the key that is none',
    as: 'bob',
    call: get('bob', 'KEY_UNSPECIFIED'),
    want: invalid('INVALID_NAME'),
  },
  {
    name: 'webhooks, which have methods of their own',
    as: 'bob',
    call: patch('WEBHOOKS', { locale: 'fr' }, ['locale']),
    want: invalid('SETTING_NOT_UPDATABLE'),
  },
  // Lists
  {
    name: 'a list',
    as: 'bob',
    call: list('bob'),
    want: { message: { settings: [DEFAULTS, WEBHOOKS], totalSize: 2 } },
  },
  {
    name: 'a page',
    as: 'bob',
    call: list('bob', { pageSize: 1 }),
    want: { message: { settings: [DEFAULTS], nextPageToken: expect.any(String), totalSize: 2 } },
  },
  {
    name: 'a page that is exactly full is the last one',
    as: 'bob',
    call: list('bob', { pageSize: 2 }),
    want: { message: { settings: [DEFAULTS, WEBHOOKS], totalSize: 2 } },
  },
  {
    name: 'a negative page size',
    as: 'bob',
    call: list('bob', { pageSize: -1 }),
    want: invalid('INVALID_PAGE_SIZE'),
  },
  {
    name: 'a page token out of thin air',
    as: 'bob',
    call: list('bob', { pageToken: 'CDIQMg==' }),
    want: invalid('INVALID_PAGE_TOKEN'),
  },
  // Masks and values
  {
    name: 'the first change of one field',
    as: 'bob',
    call: patch('GENERAL', { locale: 'fr' }, ['locale']),
    want: { message: general({ locale: 'fr', memoVisibility: 'PRIVATE' }) },
  },
  {
    name: 'a path from the setting, in either spelling',
    as: 'bob',
    call: patch('GENERAL', { memoVisibility: 'PUBLIC', theme: 'dark', locale: 'xx' }, [
      'general_setting.memo_visibility',
      'generalSetting.theme',
    ]),
    want: { message: general({ locale: 'fr', memoVisibility: 'PUBLIC', theme: 'dark' }) },
  },
  {
    name: 'the whole member',
    as: 'bob',
    call: patch('GENERAL', { locale: 'de' }, ['general_setting']),
    want: { message: general({ locale: 'de', memoVisibility: 'PRIVATE' }) },
  },
  {
    name: 'everything',
    as: 'bob',
    call: patch('GENERAL', { theme: 'dark' }, ['*']),
    want: { message: general({ locale: 'en', memoVisibility: 'PRIVATE', theme: 'dark' }) },
  },
  {
    name: 'the name, which does nothing',
    as: 'bob',
    call: patch('GENERAL', { theme: 'light' }, ['name']),
    want: { message: general({ locale: 'en', memoVisibility: 'PRIVATE', theme: 'dark' }) },
  },
  {
    name: 'an unknown path',
    as: 'bob',
    call: patch('GENERAL', { theme: 'light' }, ['theme', 'colour']),
    want: invalid('UNKNOWN_MASK_PATH'),
  },
  {
    name: 'a path of the other member',
    as: 'bob',
    call: patch('GENERAL', { theme: 'light' }, ['webhooks_setting']),
    want: invalid('UNKNOWN_MASK_PATH'),
  },
  {
    name: 'no path',
    as: 'bob',
    call: call(
      method.updateUserSetting,
      {
        setting: {
          name: 'users/bob/settings/GENERAL',
          value: { case: 'generalSetting', value: {} },
        },
      },
      'PATCH /api/v1/users/bob/settings/GENERAL?updateMask=',
      { generalSetting: {} },
    ),
    want: invalid('EMPTY_MASK'),
  },
  {
    name: 'no setting',
    as: 'bob',
    call: patch('GENERAL', undefined, ['locale']),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'the setting of the other key',
    as: 'bob',
    call: call(
      method.updateUserSetting,
      {
        setting: {
          name: 'users/bob/settings/GENERAL',
          value: { case: 'webhooksSetting', value: {} },
        },
        updateMask: { paths: ['locale'] },
      },
      'PATCH /api/v1/users/bob/settings/GENERAL?updateMask=locale',
      { webhooksSetting: {} },
    ),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'a value that is not allowed',
    as: 'bob',
    call: patch('GENERAL', { memoVisibility: 'SECRET', theme: 'light' }, ['*']),
    want: invalid('INVALID_FIELD'),
  },
  {
    name: 'what is left after the refusals',
    as: 'bob',
    call: get('bob', 'GENERAL'),
    want: { message: general({ locale: 'en', memoVisibility: 'PRIVATE', theme: 'dark' }) },
  },
  {
    name: 'somebody else writes',
    as: 'ada',
    call: patch('GENERAL', { theme: 'light' }, ['theme']),
    want: denied,
  },
]

describe.each(PROTOCOLS)('settings over %s', (protocol) => {
  let server: TestServer
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    server = await startTestServer()
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
  })
  afterAll(() => server.stop())

  it.each(CASES)('$name ($as)', async ({ as, call: made, want }) => {
    expect(await invoke(server.url, protocol, made, authorization.get(as))).toMatchObject(want)
  })

  it('pages from GENERAL to WEBHOOKS, with a token for this list only', async () => {
    const first = await invoke(
      server.url,
      protocol,
      list('bob', { pageSize: 1 }),
      authorization.get('bob'),
    )
    const pageToken = 'message' in first ? String((first.message as JsonObject).nextPageToken) : ''
    expect(
      await invoke(
        server.url,
        protocol,
        list('bob', { pageSize: 1, pageToken }),
        authorization.get('bob'),
      ),
    ).toEqual({
      message: { settings: [WEBHOOKS], totalSize: 2 },
    })
    expect(
      await invoke(server.url, protocol, list('ada', { pageToken }), authorization.get('ada')),
    ).toMatchObject(invalid('INVALID_PAGE_TOKEN'))
  })
})

describe('settings over REST', () => {
  let server: TestServer
  let users: TestUsers

  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
  })
  afterAll(() => server.stop())

  async function send(path: string, body?: object) {
    const response = await fetch(`${server.url}/api/v1/users/bob/settings${path}`, {
      method: body ? 'PATCH' : 'GET',
      headers: { authorization: users.bob.authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }

  it('return every field, and no page token on the last page', async () => {
    expect((await send('')).body).toEqual({
      settings: [
        {
          name: 'users/bob/settings/GENERAL',
          generalSetting: { locale: 'en', memoVisibility: 'PRIVATE', theme: '' },
        },
        { name: 'users/bob/settings/WEBHOOKS', webhooksSetting: { webhooks: [] } },
      ],
      totalSize: 2,
    })
  })

  it('use the members of the body as the mask', async () => {
    const body = {
      name: 'users/bob/settings/GENERAL',
      generalSetting: { theme: 'dark', memoVisibility: 'PROTECTED' },
    }
    expect(await send('/GENERAL', body)).toMatchObject({
      status: 200,
      body: { generalSetting: { locale: 'en', memoVisibility: 'PROTECTED', theme: 'dark' } },
    })
    expect(await send('/GENERAL', { generalSetting: { general_setting: 1 } })).toMatchObject({
      status: 400,
    })
    expect(await send('/GENERAL', {})).toMatchObject({ status: 400 })
  })
})
