import { type DescMethod, fromJson, type MessageInitShape } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import { decodeJwt } from 'jose'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { IdentityProviderSchema } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserNotification_Status } from '#gen/branchline/v1/user_notification_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { PASSWORD, signIn, type TestUsers, transportTo } from '../support/server.ts'
import { type Call, call } from './invoke.ts'

/** A server with the users on it, and what the calls need to find there. */
export interface Stage {
  readonly url: string
  readonly users: TestUsers
  /** `identity-providers/…` that takes any code as the identifier of a person. */
  readonly identityProvider: string
  /** URL that webhooks may be sent to. */
  readonly webhookUrl: string
  /** Identifies what this call makes: lower-case letters and digits, never given twice. */
  nextId(): string
}

/**
 * Makes what a call needs, and the call itself. What it makes belongs to bob; each call gets its
 * own.
 */
export type Preparation = (stage: Stage) => Promise<Call>

const BOB = 'users/bob'
const users = UserService.method
const auth = AuthService.method
const memos = MemoService.method
const providers = IdentityProviderService.method
const twoFactor = TwoFactorService.method

function usersAs({ url, users }: Stage, who: keyof TestUsers): Client<typeof UserService> {
  return createClient(UserService, transportTo(url, 'Connect JSON', users[who].authorization))
}

function memosAs({ url, users }: Stage, who: keyof TestUsers): Client<typeof MemoService> {
  return createClient(MemoService, transportTo(url, 'Connect JSON', users[who].authorization))
}

function authAs({ url, users }: Stage, who: keyof TestUsers): Client<typeof AuthService> {
  return createClient(AuthService, transportTo(url, 'Connect JSON', users[who].authorization))
}

async function newMemo(stage: Stage, visibility: Visibility): Promise<string> {
  const { name } = await memosAs(stage, 'bob').createMemo({
    memo: { content: 'Water the #plants', visibility },
    memoId: stage.nextId(),
  })
  return name
}

async function newWebhook(stage: Stage): Promise<string> {
  const { name } = await usersAs(stage, 'bob').createUserWebhook({
    parent: BOB,
    webhook: { url: stage.webhookUrl },
  })
  return name
}

async function newDelivery(stage: Stage): Promise<string> {
  const { name } = await usersAs(stage, 'bob').testUserWebhook({ name: await newWebhook(stage) })
  return name
}

/** Carol comments on a memo of bob. */
async function newNotification(stage: Stage): Promise<string> {
  const name = await newMemo(stage, Visibility.PUBLIC)
  await memosAs(stage, 'carol').createMemoComment({
    name,
    comment: { content: 'I did, yesterday' },
    commentId: stage.nextId(),
  })
  const { notifications } = await usersAs(stage, 'bob').listUserNotifications({
    parent: BOB,
    pageSize: 1,
  })
  return notifications[0]?.name ?? ''
}

async function newUser(stage: Stage): Promise<string> {
  const { name } = await usersAs(stage, 'ada').createUser({
    user: { username: `guest-${stage.nextId()}`, password: PASSWORD },
  })
  return name
}

async function newLinkedIdentity(stage: Stage): Promise<string> {
  const { linkedIdentities } = await usersAs(stage, 'bob').listLinkedIdentities({ parent: BOB })
  for (const { name } of linkedIdentities)
    await usersAs(stage, 'bob').deleteLinkedIdentity({ name })
  const { name } = await usersAs(stage, 'bob').createLinkedIdentity(linkOf(stage))
  return name
}

function linkOf(stage: Stage) {
  return {
    parent: BOB,
    idpName: stage.identityProvider,
    code: `person-${stage.nextId()}`,
    redirectUri: 'https://app.example.org/callback',
  } satisfies MessageInitShape<typeof users.createLinkedIdentity.input>
}

const providerJson = {
  type: 'OAUTH2',
  title: 'Example',
  config: {
    oauth2Config: {
      clientId: 'branchline',
      clientSecret: 'a secret of ours',
      authUrl: 'https://sso.example.org/authorize',
      tokenUrl: 'https://sso.example.org/token',
      userInfoUrl: 'https://sso.example.org/userinfo',
      scopes: ['openid'],
      fieldMapping: { identifier: 'sub', displayName: 'name', email: 'email' },
    },
  },
}

const provider = fromJson(IdentityProviderSchema, providerJson)

async function newProvider(stage: Stage): Promise<string> {
  const client = createClient(
    IdentityProviderService,
    transportTo(stage.url, 'Connect JSON', stage.users.ada.authorization),
  )
  const { name } = await client.createIdentityProvider({
    identityProvider: provider,
    identityProviderId: `sso-${stage.nextId()}`,
  })
  return name
}

const get = <M extends DescMethod & { methodKind: 'unary' }>(
  method: M,
  input: MessageInitShape<M['input']>,
  path: string,
): Call => call(method, input, `GET /api/v1/${path}`)

/**
 * A representative call of every unary method, on what belongs to bob or, where only administrators
 * have something, on the instance. What it does succeeds for whoever may do it.
 */
export const PREPARATIONS: ReadonlyMap<DescMethod, Preparation> = new Map<DescMethod, Preparation>([
  // Accounts
  [
    users.listUsers,
    async () =>
      get(users.listUsers, { filter: 'username == "bob"' }, "users?filter=username=='bob'"),
  ],
  [
    users.batchGetUsers,
    async () =>
      call(users.batchGetUsers, { usernames: ['bob', 'ada'] }, 'POST /api/v1/users:batchGet', {
        usernames: ['bob', 'ada'],
      }),
  ],
  [users.getUser, async () => get(users.getUser, { name: BOB }, BOB)],
  [
    users.createUser,
    async (stage) => {
      const user = { username: `new-${stage.nextId()}`, password: PASSWORD }
      return call(users.createUser, { user }, 'POST /api/v1/users', user)
    },
  ],
  [
    users.updateUser,
    async () =>
      call(
        users.updateUser,
        {
          user: { name: BOB, description: 'Grows tomatoes' },
          updateMask: { paths: ['description'] },
        },
        `PATCH /api/v1/${BOB}?updateMask=description`,
        { description: 'Grows tomatoes' },
      ),
  ],
  [
    users.deleteUser,
    async (stage) => {
      const name = await newUser(stage)
      return call(users.deleteUser, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  [users.listAllUserStats, async () => get(users.listAllUserStats, {}, 'users:stats')],
  [
    users.getUserStats,
    async (stage) => {
      await newMemo(stage, Visibility.PUBLIC)
      return get(users.getUserStats, { name: BOB }, `${BOB}:getStats`)
    },
  ],
  // Settings
  [
    users.listUserSettings,
    async () => get(users.listUserSettings, { parent: BOB }, `${BOB}/settings`),
  ],
  [
    users.getUserSetting,
    async () =>
      get(users.getUserSetting, { name: `${BOB}/settings/GENERAL` }, `${BOB}/settings/GENERAL`),
  ],
  [
    users.updateUserSetting,
    async () =>
      call(
        users.updateUserSetting,
        {
          setting: {
            name: `${BOB}/settings/GENERAL`,
            value: { case: 'generalSetting', value: { locale: 'fr' } },
          },
          updateMask: { paths: ['locale'] },
        },
        `PATCH /api/v1/${BOB}/settings/GENERAL?updateMask=locale`,
        { generalSetting: { locale: 'fr' } },
      ),
  ],
  // Linked identities
  [
    users.listLinkedIdentities,
    async (stage) => {
      await newLinkedIdentity(stage)
      return get(users.listLinkedIdentities, { parent: BOB }, `${BOB}/linkedIdentities`)
    },
  ],
  [
    users.createLinkedIdentity,
    async (stage) => {
      await usersAs(stage, 'bob').deleteLinkedIdentity({ name: await newLinkedIdentity(stage) })
      const { parent, ...body } = linkOf(stage)
      return call(
        users.createLinkedIdentity,
        { parent, ...body },
        `POST /api/v1/${BOB}/linkedIdentities`,
        body,
      )
    },
  ],
  [
    users.getLinkedIdentity,
    async (stage) => {
      const name = await newLinkedIdentity(stage)
      return get(users.getLinkedIdentity, { name }, name)
    },
  ],
  [
    users.deleteLinkedIdentity,
    async (stage) => {
      const name = await newLinkedIdentity(stage)
      return call(users.deleteLinkedIdentity, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  // Personal access tokens
  [
    users.listPersonalAccessTokens,
    async (stage) => {
      await usersAs(stage, 'bob').createPersonalAccessToken({
        parent: BOB,
        description: 'laptop',
        scopes: ['read:memo'],
      })
      return get(
        users.listPersonalAccessTokens,
        { parent: BOB, pageSize: 1 },
        `${BOB}/personalAccessTokens?pageSize=1`,
      )
    },
  ],
  [
    users.createPersonalAccessToken,
    async () => {
      const body = { description: 'ci', expiresInDays: 30, scopes: ['read:misc'] }
      const path = `POST /api/v1/${BOB}/personalAccessTokens`
      return call(users.createPersonalAccessToken, { parent: BOB, ...body }, path, body)
    },
  ],
  [
    users.deletePersonalAccessToken,
    async (stage) => {
      const made = await usersAs(stage, 'bob').createPersonalAccessToken({ parent: BOB })
      const name = made.personalAccessToken?.name ?? ''
      return call(users.deletePersonalAccessToken, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  // Webhooks
  [
    users.listUserWebhooks,
    async (stage) => {
      await newWebhook(stage)
      return get(users.listUserWebhooks, { parent: BOB }, `${BOB}/webhooks`)
    },
  ],
  [
    users.createUserWebhook,
    async (stage) => {
      const webhook = { url: stage.webhookUrl, displayName: 'Chat' }
      return call(
        users.createUserWebhook,
        { parent: BOB, webhook },
        `POST /api/v1/${BOB}/webhooks`,
        webhook,
      )
    },
  ],
  [
    users.updateUserWebhook,
    async (stage) => {
      const name = await newWebhook(stage)
      return call(
        users.updateUserWebhook,
        { webhook: { name, displayName: 'Chat' }, updateMask: { paths: ['display_name'] } },
        `PATCH /api/v1/${name}?updateMask=displayName`,
        { displayName: 'Chat' },
      )
    },
  ],
  [
    users.deleteUserWebhook,
    async (stage) => {
      const name = await newWebhook(stage)
      return call(users.deleteUserWebhook, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  [
    users.getUserWebhookSigningSecret,
    async (stage) => {
      const name = await newWebhook(stage)
      return get(users.getUserWebhookSigningSecret, { name }, `${name}:getSigningSecret`)
    },
  ],
  [
    users.listUserWebhookDeliveries,
    async (stage) => {
      const parent = (await newDelivery(stage)).replace(/\/deliveries\/.*/, '')
      return get(users.listUserWebhookDeliveries, { parent }, `${parent}/deliveries`)
    },
  ],
  [
    users.redeliverUserWebhookDelivery,
    async (stage) => {
      const name = await newDelivery(stage)
      return call(
        users.redeliverUserWebhookDelivery,
        { name },
        `POST /api/v1/${name}:redeliver`,
        {},
      )
    },
  ],
  [
    users.testUserWebhook,
    async (stage) => {
      const name = await newWebhook(stage)
      return call(users.testUserWebhook, { name }, `POST /api/v1/${name}:test`, {})
    },
  ],
  // Notifications
  [
    users.listUserNotifications,
    async (stage) => {
      await newNotification(stage)
      return get(
        users.listUserNotifications,
        { parent: BOB, pageSize: 1 },
        `${BOB}/notifications?pageSize=1`,
      )
    },
  ],
  [
    users.updateUserNotification,
    async (stage) => {
      const name = await newNotification(stage)
      return call(
        users.updateUserNotification,
        {
          notification: { name, status: UserNotification_Status.ARCHIVED },
          updateMask: { paths: ['status'] },
        },
        `PATCH /api/v1/${name}?updateMask=status`,
        { status: 'ARCHIVED' },
      )
    },
  ],
  [
    users.deleteUserNotification,
    async (stage) => {
      const name = await newNotification(stage)
      return call(users.deleteUserNotification, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  // Sessions
  [
    auth.signIn,
    async () => {
      const passwordCredentials = { username: 'bob', password: PASSWORD }
      const credentials = { case: 'passwordCredentials', value: passwordCredentials } as const
      return call(auth.signIn, { credentials }, 'POST /api/v1/auth/signin', { passwordCredentials })
    },
  ],
  [auth.refreshToken, async () => call(auth.refreshToken, {}, 'POST /api/v1/auth/refresh', {})],
  [
    auth.confirmSession,
    async () =>
      call(auth.confirmSession, { password: PASSWORD }, 'POST /api/v1/auth/session:confirm', {
        password: PASSWORD,
      }),
  ],
  [
    auth.listSessions,
    async (stage) => {
      const sessions = authAs(stage, 'bob')
      // What other calls left behind.
      for (const { name, current } of (await sessions.listSessions({ parent: BOB })).sessions)
        if (!current) await sessions.deleteSession({ name })
      return get(auth.listSessions, { parent: BOB }, `${BOB}/sessions`)
    },
  ],
  [
    auth.deleteSession,
    async (stage) => {
      const { authorization } = await signIn(stage.url, 'bob')
      const name = `${BOB}/sessions/${decodeJwt(authorization.replace('Bearer ', '')).sid}`
      return call(auth.deleteSession, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  [auth.getCurrentUser, async () => get(auth.getCurrentUser, {}, 'auth/me')],
  [
    auth.requestPasswordReset,
    async () =>
      call(
        auth.requestPasswordReset,
        { username: 'bob' },
        'POST /api/v1/auth/password:requestReset',
        {
          username: 'bob',
        },
      ),
  ],
  [
    auth.resetPassword,
    async (stage) => {
      const name = await newUser(stage)
      const { token } = await authAs(stage, 'ada').createPasswordResetToken({ name })
      const body = { token, newPassword: 'a new battery' }
      return call(auth.resetPassword, body, 'POST /api/v1/auth/password:reset', body)
    },
  ],
  [
    auth.createPasswordResetToken,
    async (stage) => {
      const name = await newUser(stage)
      return call(
        auth.createPasswordResetToken,
        { name },
        `POST /api/v1/${name}:createPasswordResetToken`,
        {},
      )
    },
  ],
  // Identity providers
  [
    providers.listIdentityProviders,
    async () => get(providers.listIdentityProviders, {}, 'identity-providers'),
  ],
  [
    providers.getIdentityProvider,
    async (stage) => {
      const name = await newProvider(stage)
      return get(providers.getIdentityProvider, { name }, name)
    },
  ],
  [
    providers.createIdentityProvider,
    async (stage) => {
      const identityProviderId = `sso-${stage.nextId()}`
      const path = `POST /api/v1/identity-providers?identityProviderId=${identityProviderId}`
      const input = { identityProvider: provider, identityProviderId }
      return call(providers.createIdentityProvider, input, path, providerJson)
    },
  ],
  [
    providers.updateIdentityProvider,
    async (stage) => {
      const name = await newProvider(stage)
      return call(
        providers.updateIdentityProvider,
        { identityProvider: { name, title: 'Example GmbH' }, updateMask: { paths: ['title'] } },
        `PATCH /api/v1/${name}?updateMask=title`,
        { title: 'Example GmbH' },
      )
    },
  ],
  [
    providers.deleteIdentityProvider,
    async (stage) => {
      const name = await newProvider(stage)
      return call(providers.deleteIdentityProvider, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  // Memos
  [
    memos.createMemo,
    async (stage) => {
      const memoId = stage.nextId()
      const body = { content: '# Garden\n\n- [ ] buy seeds for @carol #plants/tomatoes' }
      const input = { memo: body, memoId }
      return call(memos.createMemo, input, `POST /api/v1/memos?memoId=${memoId}`, body)
    },
  ],
  [
    memos.listMemos,
    async (stage) => {
      await newMemo(stage, Visibility.PUBLIC)
      return get(memos.listMemos, { pageSize: 1 }, 'memos?pageSize=1')
    },
  ],
  [
    memos.getMemo,
    async (stage) => {
      const name = await newMemo(stage, Visibility.PRIVATE)
      return get(memos.getMemo, { name }, name)
    },
  ],
  [
    memos.updateMemo,
    async (stage) => {
      const name = await newMemo(stage, Visibility.PRIVATE)
      return call(
        memos.updateMemo,
        { memo: { name, pinned: true }, updateMask: { paths: ['pinned'] } },
        `PATCH /api/v1/${name}?updateMask=pinned`,
        { pinned: true },
      )
    },
  ],
  [
    memos.deleteMemo,
    async (stage) => {
      const name = await newMemo(stage, Visibility.PRIVATE)
      return call(memos.deleteMemo, { name }, `DELETE /api/v1/${name}`)
    },
  ],
  [
    memos.createMemoComment,
    async (stage) => {
      const name = await newMemo(stage, Visibility.PRIVATE)
      const body = { content: 'Done' }
      const commentId = stage.nextId()
      const path = `POST /api/v1/${name}/comments?commentId=${commentId}`
      return call(memos.createMemoComment, { name, comment: body, commentId }, path, body)
    },
  ],
  [
    memos.listMemoComments,
    async (stage) => {
      const name = await newMemo(stage, Visibility.PRIVATE)
      await memosAs(stage, 'bob').createMemoComment({
        name,
        comment: { content: 'Done' },
        commentId: stage.nextId(),
      })
      return get(memos.listMemoComments, { name }, `${name}/comments`)
    },
  ],
  // Two-factor
  [
    twoFactor.getTwoFactor,
    async () => get(twoFactor.getTwoFactor, { name: `${BOB}/twoFactor` }, `${BOB}/twoFactor`),
  ],
  [
    twoFactor.enrollTwoFactor,
    async () =>
      call(
        twoFactor.enrollTwoFactor,
        { name: `${BOB}/twoFactor`, password: PASSWORD },
        `POST /api/v1/${BOB}/twoFactor:enroll`,
        { password: PASSWORD },
      ),
  ],
  ...(
    [
      [twoFactor.confirmTwoFactor, 'confirm'],
      [twoFactor.disableTwoFactor, 'disable'],
      [twoFactor.regenerateRecoveryCodes, 'regenerateRecoveryCodes'],
    ] as const
  ).map(([method, verb]): [DescMethod, Preparation] => [
    method,
    async () =>
      call(
        method,
        { name: `${BOB}/twoFactor`, passcode: '000000' },
        `POST /api/v1/${BOB}/twoFactor:${verb}`,
        {
          passcode: '000000',
        },
      ),
  ]),
])
