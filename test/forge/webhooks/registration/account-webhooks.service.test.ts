import { create, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { beforeEach, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type UserWebhook,
  UserWebhookDelivery_State,
  type UserWebhookSchema,
} from '#gen/branchline/v1/user_webhook_pb.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { deliverDue } from '../../../../src/forge/deliveries/webhook-attempts.ts'
import {
  userWebhookMessages,
  userWebhookMethods,
} from '../../../../src/forge/webhooks/registration/account-webhooks.service.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'
import { startReceiver } from '../../../support/receiver.ts'

const { method: methods } = UserService
const URL = 'http://127.0.0.1:9/'

type MethodName = keyof ReturnType<typeof userWebhookMethods>

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'Ada', { user_id: 'ada-1' })
})

/** Calls a method as the owner of the named resource. */
async function call<N extends MethodName>(
  name: N,
  request: MessageInitShape<(typeof methods)[N]['input']>,
  owner = ada,
): Promise<MessageShape<(typeof methods)[N]['output']>> {
  const method = methods[name]
  const caller = {
    kind: 'user',
    peer: LOCAL_PEER,
    user: owner,
    credential: { kind: 'password' },
  } as const
  const handler = userWebhookMethods(app)[name] as (
    request: unknown,
    context: unknown,
  ) => Promise<never>
  const answer = await handler(
    create(method.input, request as never),
    callContext(method, { caller, owner }),
  )
  // The compiler does not infer that the output belongs to the method with this name.
  return create(method.output, answer) as MessageShape<(typeof methods)[N]['output']>
}

const make = (webhook: MessageInitShape<typeof UserWebhookSchema> = {}, owner = ada) =>
  call(
    'createUserWebhook',
    { parent: `users/${owner.user_id ?? owner.username}`, webhook: { url: URL, ...webhook } },
    owner,
  )

const update = (webhook: MessageInitShape<typeof UserWebhookSchema>, paths?: string[]) =>
  call('updateUserWebhook', { webhook, ...(paths && { updateMask: { paths } }) })

const secretOf = async ({ name }: UserWebhook) =>
  (await call('getUserWebhookSigningSecret', { name })).signingSecret

describe('CreateUserWebhook', () => {
  it('returns the webhook as in lists and the setting, without its secret', async () => {
    const signingSecret = 'a secret of mine'
    const webhook = await make({
      displayName: 'CI',
      signingSecret,
      name: 'users/x/webhooks/y',
      disabled: true,
    })
    expect(webhook).toMatchObject({
      url: URL,
      displayName: 'CI',
      signingSecret: '',
      signingSecretSet: true,
      disabled: false,
    })
    expect(webhook.name).toMatch(/^users\/ada-1\/webhooks\/[0-9a-f]{16}$/)
    const times = [webhook.createTime, webhook.updateTime].map(
      (time) => time && timestampDate(time).toISOString(),
    )
    expect(times).toEqual(Array(2).fill('2026-05-01T10:00:00.000Z'))
    expect((await call('listUserWebhooks', { parent: 'users/ada-1' })).webhooks).toEqual([webhook])
    expect(await userWebhookMessages(app, ada)).toEqual([webhook])
    expect(await secretOf(webhook)).toBe(signingSecret)
  })

  it('refuses a request without a webhook', async () => {
    await expect(call('createUserWebhook', { parent: 'users/ada-1' })).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'webhook' },
    })
  })
})

describe('UpdateUserWebhook', () => {
  const NEW = { url: 'http://127.0.0.1:10/', displayName: 'new', signingSecret: 'new secret' }

  it.each([
    [
      'every field that is not empty without a mask',
      { displayName: 'new' },
      undefined,
      { url: URL, displayName: 'new' },
    ],
    [
      'every field that is not empty with an empty mask',
      { url: NEW.url },
      [],
      { url: NEW.url, displayName: 'old' },
    ],
    ['nothing without mask and fields', {}, undefined, { url: URL, displayName: 'old' }],
    ['what the mask names', NEW, ['url'], { url: NEW.url, displayName: 'old' }],
    ['what the mask names, to be empty', {}, ['display_name'], { url: URL, displayName: '' }],
    ['everything', NEW, ['*'], { url: NEW.url, displayName: 'new' }],
    [
      'nothing that only the server writes',
      { disabled: true },
      ['name', 'disabled', 'createTime'],
      { url: URL },
    ],
  ])('changes %s', async (_, fields, paths, want) => {
    const { name } = await make({ displayName: 'old' })
    const updated = await update({ name, ...fields }, paths)
    expect(updated).toMatchObject({ name, disabled: false, ...want })
    expect((await call('listUserWebhooks', { parent: 'users/ada-1' })).webhooks).toEqual([updated])
  })

  it('replaces the secret if it is named or given', async () => {
    const webhook = await make({ signingSecret: 'one' })
    await update({ name: webhook.name, signingSecret: 'two' })
    expect(await secretOf(webhook)).toBe('two')
    await update({ name: webhook.name, signingSecret: 'three' }, ['signingSecret'])
    expect(await secretOf(webhook)).toBe('three')
    // A client that writes a whole webhook does not know its secret.
    await update({ name: webhook.name, url: URL }, ['*'])
    expect(await secretOf(webhook)).toBe('three')
  })

  it.each([
    ['an unknown path', { url: URL }, ['url', 'target'], 'UNKNOWN_MASK_PATH'],
    ['an empty URL', {}, ['url'], 'INVALID_WEBHOOK_URL'],
    ['an empty URL in a whole webhook', { displayName: 'x' }, ['*'], 'INVALID_WEBHOOK_URL'],
    ['to remove the secret', {}, ['signing_secret'], 'INVALID_SIGNING_SECRET'],
  ])('refuses %s', async (_, fields, paths, reason) => {
    const webhook = await make()
    await expect(update({ name: webhook.name, ...fields }, paths)).rejects.toMatchObject({ reason })
    expect(await userWebhookMessages(app, ada)).toEqual([webhook])
  })

  it('checks the webhook before the mask', async () => {
    const name = 'users/ada-1/webhooks/0123456789abcdef'
    await expect(update({ name }, ['target'])).rejects.toMatchObject({
      reason: 'WEBHOOK_NOT_FOUND',
      metadata: { name },
    })
  })
})

describe('DeleteUserWebhook', () => {
  it('deletes a webhook once', async () => {
    const { name } = await make()
    await call('deleteUserWebhook', { name })
    await expect(call('deleteUserWebhook', { name })).rejects.toMatchObject({
      reason: 'WEBHOOK_NOT_FOUND',
    })
    expect(await userWebhookMessages(app, ada)).toEqual([])
  })
})

describe('names of webhooks', () => {
  const withName = ['deleteUserWebhook', 'getUserWebhookSigningSecret', 'testUserWebhook'] as const

  it('do not match webhooks of another account', async () => {
    const { name } = await make({}, await addUser(app, 'bob'))
    const under = name.replace('users/bob', 'users/ada-1')
    for (const method of withName) {
      await expect(call(method, { name: under })).rejects.toMatchObject({
        reason: 'WEBHOOK_NOT_FOUND',
      })
    }
    const parent = { parent: under }
    await expect(call('listUserWebhookDeliveries', parent)).rejects.toMatchObject({
      reason: 'WEBHOOK_NOT_FOUND',
    })
    const delivery = { name: `${under}/deliveries/msg_0` }
    await expect(call('redeliverUserWebhookDelivery', delivery)).rejects.toMatchObject({
      reason: 'WEBHOOK_NOT_FOUND',
    })
  })

  it.each([
    ['users/ada-1'],
    ['users/ada-1/webhooks'],
    ['users/ada-1/webhooks/'],
    ['users/ada-1/webhooks/a/b'],
    ['users/ada-1/webhooks/a%2fb'],
    ['users/ada-1/personalAccessTokens/a'],
  ])('must not have the form %s', async (name) => {
    for (const method of [...withName, 'redeliverUserWebhookDelivery'] as const) {
      await expect(call(method, { name })).rejects.toMatchObject({ reason: 'INVALID_NAME' })
    }
  })
})

describe('deliveries', () => {
  it('are returned with their results', async () => {
    const receiver = await startReceiver((response) => response.writeHead(500).end())
    const { name } = await make({ url: receiver.url })
    const waiting = await call('testUserWebhook', { name })
    expect(waiting.name).toMatch(new RegExp(`^${name}/deliveries/msg_[0-9a-f]{32}$`))
    expect(waiting).toMatchObject({
      eventType: 'test',
      state: UserWebhookDelivery_State.PENDING,
      attemptCount: 0,
    })
    expect(waiting.lastAttemptTime).toBeUndefined()
    app.clock.advance(1)
    await deliverDue(app, 'branchline-webhook/0')
    await receiver.stop()
    const { deliveries } = await call('listUserWebhookDeliveries', { parent: name })
    expect(deliveries).toEqual([
      expect.objectContaining({
        name: waiting.name,
        state: UserWebhookDelivery_State.PENDING,
        attemptCount: 1,
        responseStatus: 500,
        error: 'status 500',
        requestBody: receiver.received[0]?.body,
        createTime: waiting.createTime,
      }),
    ])
    expect(receiver.received[0]?.headers['webhook-id']).toBe(waiting.name.split('/').at(-1))
    const [shown] = deliveries
    expect(shown?.lastAttemptTime && timestampDate(shown.lastAttemptTime).toISOString()).toBe(
      '2026-05-01T10:00:01.000Z',
    )
    expect(
      shown?.nextAttemptTime && timestampDate(shown.nextAttemptTime).getTime(),
    ).toBeGreaterThan(app.clock.now())
    const again = await call('redeliverUserWebhookDelivery', { name: waiting.name })
    expect(again.nextAttemptTime && timestampDate(again.nextAttemptTime).getTime()).toBe(
      app.clock.now(),
    )
  })

  it('are listed newest first, even if others are added in between', async () => {
    const { name: parent } = await make()
    const test = async () => (await call('testUserWebhook', { name: parent })).name
    const made = [await test(), await test(), await test()].reverse()
    const first = await call('listUserWebhookDeliveries', { parent, pageSize: 2 })
    await test()
    const second = await call('listUserWebhookDeliveries', {
      parent,
      pageSize: 2,
      pageToken: first.nextPageToken,
    })
    expect([...first.deliveries, ...second.deliveries].map(({ name }) => name)).toEqual(made)
    expect(second.nextPageToken).toBe('')
  })

  it('do not accept the page token of another webhook', async () => {
    const [one, two] = [await make(), await make()]
    for (let i = 0; i < 2; i++) await call('testUserWebhook', { name: one.name })
    const { nextPageToken: pageToken } = await call('listUserWebhookDeliveries', {
      parent: one.name,
      pageSize: 1,
    })
    await expect(
      call('listUserWebhookDeliveries', { parent: two.name, pageToken }),
    ).rejects.toMatchObject({
      reason: 'INVALID_PAGE_TOKEN',
    })
  })

  it('cannot be sent again if they do not exist', async () => {
    const { name } = await make()
    const delivery = `${name}/deliveries/msg_0`
    await expect(call('redeliverUserWebhookDelivery', { name: delivery })).rejects.toMatchObject({
      reason: 'WEBHOOK_DELIVERY_NOT_FOUND',
      metadata: { name: delivery },
    })
  })
})
