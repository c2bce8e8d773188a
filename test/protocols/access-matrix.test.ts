import type { DescMethod } from '@bufbuild/protobuf'
import { ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { createToken, PASSWORD, signIn, transportTo } from '../support/server.ts'
import { isLongTier } from '../support/tier.ts'
import { isOfForge, servedMethods } from './forge-matrix/ask.ts'
import { call as invokable, invoke, PROTOCOLS, type Protocol } from './invoke.ts'
import { PREPARATIONS } from './representative-calls.ts'
import { type OpenStage, openStage } from './stage.ts'

/**
 * Who calls. What the call is about belongs to bob: he is `self`, carol is `other`. `unscoped` and
 * `publicOnly` are tokens of bob, one with a scope that no method here needs, one with every scope,
 * restricted to public data.
 */
const CALLERS = [
  'anonymous',
  'self',
  'other',
  'admin',
  'archived',
  'unscoped',
  'publicOnly',
] as const
type Caller = (typeof CALLERS)[number]

/** What comes of a call: `ok`, or the reason of the refusal. */
type Row = Readonly<Record<Caller, string>>

const everybody: Row = {
  anonymous: 'ok',
  self: 'ok',
  other: 'ok',
  admin: 'ok',
  archived: 'BAD_CREDENTIALS',
  unscoped: 'SCOPE_MISSING',
  publicOnly: 'ok',
}
const signedIn: Row = { ...everybody, anonymous: 'UNAUTHENTICATED' }
const ownerOrAdmin: Row = { ...signedIn, other: 'PERMISSION_DENIED' }
const owner: Row = { ...ownerOrAdmin, admin: 'PERMISSION_DENIED' }
const administrators: Row = {
  ...ownerOrAdmin,
  self: 'PERMISSION_DENIED',
  publicOnly: 'PERMISSION_DENIED',
}
const aboutPrivateData = { publicOnly: 'PUBLIC_ONLY_TOKEN' }
const byPeople = { unscoped: 'SESSION_REQUIRED', publicOnly: 'SESSION_REQUIRED' }

/** The same for everyone, whatever credentials come with the call, good ones or not. */
const always = (outcome: string): Row => ({
  anonymous: outcome,
  self: outcome,
  other: outcome,
  admin: outcome,
  archived: outcome,
  unscoped: outcome,
  publicOnly: outcome,
})

/** Bob's second factor is off, so what would change it says so to whoever may ask. */
const secondFactor = (row: Row, reason: string): Row => ({
  ...row,
  ...byPeople,
  self: reason,
  ...(row.admin === 'ok' && { admin: reason }),
})

const users = UserService.method
const auth = AuthService.method
const memos = MemoService.method
const providers = IdentityProviderService.method
const twoFactor = TwoFactorService.method

const EXPECTED: ReadonlyMap<DescMethod, Row> = new Map<DescMethod, Row>([
  [users.listUsers, administrators],
  [users.batchGetUsers, everybody],
  [users.getUser, everybody],
  [
    users.createUser,
    {
      ...always('REGISTRATION_CLOSED'),
      admin: 'ok',
      archived: 'BAD_CREDENTIALS',
    },
  ],
  [users.updateUser, ownerOrAdmin],
  // Bob is not the guest who is deleted.
  [users.deleteUser, administrators],
  [users.listAllUserStats, everybody],
  [users.getUserStats, everybody],
  [users.listUserSettings, { ...owner, ...aboutPrivateData }],
  [users.getUserSetting, { ...owner, ...aboutPrivateData }],
  [users.updateUserSetting, { ...owner, ...aboutPrivateData }],
  [users.listLinkedIdentities, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.createLinkedIdentity, { ...owner, publicOnly: 'SESSION_REQUIRED' }],
  [users.getLinkedIdentity, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.deleteLinkedIdentity, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.listPersonalAccessTokens, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.createPersonalAccessToken, owner],
  [users.deletePersonalAccessToken, ownerOrAdmin],
  [users.listUserWebhooks, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.createUserWebhook, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.updateUserWebhook, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.deleteUserWebhook, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.getUserWebhookSigningSecret, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.listUserWebhookDeliveries, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.redeliverUserWebhookDelivery, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.testUserWebhook, { ...ownerOrAdmin, ...aboutPrivateData }],
  [users.listUserNotifications, { ...owner, ...aboutPrivateData }],
  [users.updateUserNotification, { ...owner, ...aboutPrivateData }],
  [users.deleteUserNotification, { ...owner, ...aboutPrivateData }],
  [auth.signIn, always('ok')],
  // Nobody sends a cookie here.
  [auth.refreshToken, always('UNAUTHENTICATED')],
  [auth.getCurrentUser, signedIn],
  [auth.requestPasswordReset, always('ok')],
  [auth.resetPassword, always('ok')],
  [auth.createPasswordResetToken, administrators],
  [auth.confirmSession, { ...signedIn, ...byPeople }],
  [auth.listSessions, { ...ownerOrAdmin, ...byPeople }],
  [auth.deleteSession, { ...ownerOrAdmin, ...byPeople }],
  [providers.listIdentityProviders, { ...always('ok'), archived: 'BAD_CREDENTIALS' }],
  [providers.getIdentityProvider, signedIn],
  [providers.createIdentityProvider, administrators],
  [providers.updateIdentityProvider, administrators],
  [providers.deleteIdentityProvider, administrators],
  [memos.createMemo, { ...signedIn, ...aboutPrivateData }],
  [memos.listMemos, everybody],
  // Of a private memo
  [memos.getMemo, { ...owner, ...aboutPrivateData }],
  [memos.updateMemo, { ...ownerOrAdmin, ...aboutPrivateData }],
  [memos.deleteMemo, { ...ownerOrAdmin, ...aboutPrivateData }],
  [memos.createMemoComment, { ...owner, ...aboutPrivateData }],
  [memos.listMemoComments, { ...owner, ...aboutPrivateData }],
  [twoFactor.getTwoFactor, { ...ownerOrAdmin, ...byPeople }],
  [twoFactor.enrollTwoFactor, { ...owner, ...byPeople }],
  [twoFactor.confirmTwoFactor, secondFactor(owner, 'TWO_FACTOR_INVALID')],
  [twoFactor.disableTwoFactor, secondFactor(ownerOrAdmin, 'TWO_FACTOR_NOT_ENABLED')],
  [twoFactor.regenerateRecoveryCodes, secondFactor(owner, 'TWO_FACTOR_NOT_ENABLED')],
])

const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`

let stage: OpenStage
let authorization: Readonly<Record<Caller, string | undefined>>

beforeAll(async () => {
  stage = await openStage()
  const { url, users } = stage
  authorization = {
    anonymous: undefined,
    self: users.bob.authorization,
    other: users.carol.authorization,
    admin: users.ada.authorization,
    archived: await archivedSession(stage),
    unscoped: `Bearer ${await createToken(url, users.bob, ['read:package'])}`,
    publicOnly: `Bearer ${await createToken(url, users.bob, ['all', 'public-only'])}`,
  }
})
afterAll(() => stage.close())

/** The first method of each access class, over all protocols; another one over one of them. */
function rowsFor(protocol: Protocol) {
  const classes = new Map(
    [...EXPECTED].reverse().map(([method, row]) => [JSON.stringify(row), method]),
  )
  const models = new Set(classes.values())
  return [...EXPECTED].flatMap(([method, row], nth) => {
    const isAsked =
      isLongTier || models.has(method) || PROTOCOLS[nth % PROTOCOLS.length] === protocol
    return isAsked ? [{ name: nameOf(method), method, row }] : []
  })
}

describe.each(PROTOCOLS)('access to methods over %s', (protocol) => {
  it.each(rowsFor(protocol))('$name', async ({ method, row }) => {
    const prepare = PREPARATIONS.get(method)
    const outcomes: Record<string, string> = {}
    for (const caller of CALLERS) {
      const call = await prepare?.(stage)
      if (!call) throw new Error(`no representative call of ${nameOf(method)}`)
      const outcome = await invoke(stage.url, protocol, call, authorization[caller])
      outcomes[caller] = 'message' in outcome ? 'ok' : (outcome.reason ?? outcome.code)
    }
    expect(outcomes).toEqual(row)
  })

  it('EventService.WatchEvents', async () => {
    const outcomes: Record<string, string> = {}
    for (const caller of CALLERS)
      outcomes[caller] = await watch(stage.url, protocol, authorization[caller])
    expect(outcomes).toEqual({ ...signedIn, ...aboutPrivateData })
  })

  it('AuthService.SignOut', async () => {
    const signOut = async (credentials: string | undefined) => {
      const call = invokable(auth.signOut, {}, 'POST /api/v1/auth/signout', {})
      const outcome = await invoke(stage.url, protocol, call, credentials)
      return 'message' in outcome ? 'ok' : outcome.reason
    }
    expect(await signOut(authorization.anonymous)).toBe('UNAUTHENTICATED')
    expect(await signOut(authorization.archived)).toBe('BAD_CREDENTIALS')
    // A token is no session, so there is none to end.
    expect(await signOut(authorization.publicOnly)).toBe('UNAUTHENTICATED')
    expect(await signOut((await signIn(stage.url, 'bob')).authorization)).toBe('ok')
  })
})

describe('the access table', () => {
  it('has a row for every method outside of the forge', async () => {
    const apart: readonly DescMethod[] = [
      EventService.method.watchEvents,
      auth.signOut,
      // Answer an image and not JSON: test/clients/curl.test.ts reads one, and
      // test/stories/accounts/generated-avatars.test.ts the other.
      users.getUserAvatar,
      users.getGeneratedAvatar,
    ]
    const methods = (await servedMethods()).filter((method) => !isOfForge(method))
    expect(methods.length).toBeGreaterThan(0)
    const missing = methods.filter((method) => !EXPECTED.has(method) && !apart.includes(method))
    expect(missing.map(nameOf)).toEqual([])
  })
})

/** The first answer of a stream of events, or why there is none. */
async function watch(
  url: string,
  protocol: Protocol,
  credentials: string | undefined,
): Promise<string> {
  const leave = new AbortController()
  const headers: Record<string, string> =
    credentials === undefined ? {} : { authorization: credentials }
  try {
    if (protocol === 'REST') {
      const response = await fetch(`${url}/api/v1/events:watch`, { headers, signal: leave.signal })
      if (response.ok) return 'ok'
      const { details } = (await response.json()) as { details: { reason?: string }[] }
      return details.find(({ reason }) => reason !== undefined)?.reason ?? ''
    }
    const client = createClient(EventService, transportTo(url, protocol, credentials))
    for await (const _ of client.watchEvents({}, { signal: leave.signal })) return 'ok'
    return 'ended'
  } catch (thrown) {
    const [info] = ConnectError.from(thrown).findDetails(ErrorInfoSchema)
    return info?.reason ?? String(thrown)
  } finally {
    leave.abort()
  }
}

/** Credentials that were good until their account was archived. */
async function archivedSession({ url, users }: OpenStage): Promise<string> {
  const client = createClient(
    UserService,
    transportTo(url, 'Connect JSON', users.ada.authorization),
  )
  await client.createUser({ user: { username: 'erin', password: PASSWORD } })
  const { authorization } = await signIn(url, 'erin')
  await client.updateUser({
    user: { name: 'users/erin', state: State.ARCHIVED },
    updateMask: { paths: ['state'] },
  })
  return authorization
}
