import { createClient } from '@connectrpc/connect'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { parseAllowedHosts } from '../../src/platform/outbound/allowed-hosts.ts'
import { openForge } from '../support/forge.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type Actor, transportTo } from '../support/server.ts'
import { call, invoke, PROTOCOLS } from './invoke.ts'

const { method } = UserService
const PARENT = 'users/bob'

let receiver: Receiver

const { server, users } = await openForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.stop()
})

const usersAs = (actor: Actor) =>
  createClient(UserService, transportTo(server.url, 'Connect JSON', actor.authorization))
const memosAs = (actor: Actor) =>
  createClient(MemoService, transportTo(server.url, 'Connect JSON', actor.authorization))

const restMemo = async (name: string, { authorization }: Actor) =>
  (await fetch(`${server.url}/api/v1/${name}`, { headers: { authorization } })).json()

describe('the webhooks of an account', () => {
  it('receive changes to its memos by all users, in a form that a library verifies', async () => {
    const { ada, bob, carol } = users
    const { name: webhook } = await usersAs(bob).createUserWebhook({
      parent: PARENT,
      webhook: { url: receiver.url },
    })
    const { signingSecret } = await usersAs(bob).getUserWebhookSigningSecret({ name: webhook })
    const told = async () => {
      const { headers, body } = await receiver.next()
      return new Webhook(signingSecret).verify(body, headers as Record<string, string>) as {
        type: string
        activityType: string
        creator: string
        memo: { name: string; content: string; parent?: string; relations: unknown[] }
      }
    }

    const { name } = await memosAs(bob).createMemo({
      memo: { content: 'one #tag', visibility: Visibility.PUBLIC },
    })
    const created = await told()
    expect(created).toMatchObject({
      type: 'memo.created',
      activityType: 'memos.memo.created',
      creator: PARENT,
    })
    // What REST shows may hold fields that proto3 JSON leaves out, and nothing else than is sent.
    expect(await restMemo(name, bob)).toMatchObject(created.memo)

    await memosAs(ada).updateMemo({
      memo: { name, content: 'two' },
      updateMask: { paths: ['content'] },
    })
    expect(await told()).toMatchObject({
      type: 'memo.updated',
      creator: PARENT,
      memo: { name, content: 'two' },
    })

    const comment = await memosAs(carol).createMemoComment({ name, comment: { content: 'well' } })
    const commented = await told()
    expect(commented).toMatchObject({ type: 'memo.comment.created', creator: 'users/carol' })
    expect(commented.memo).toMatchObject({
      name: comment.name,
      parent: name,
      relations: [{ memo: { name: comment.name }, relatedMemo: { name }, type: 'COMMENT' }],
    })

    const own = await memosAs(bob).createMemoComment({ name, comment: { content: 'indeed' } })
    const both = [await told(), await told()]
    expect(both.map(({ type, memo }) => [type, memo.name])).toEqual([
      ['memo.created', own.name],
      ['memo.comment.created', own.name],
    ])

    // The comments go too, and are not spoken of.
    await memosAs(bob).deleteMemo({ name })
    expect(await told()).toMatchObject({ type: 'memo.deleted', memo: { name, content: 'two' } })
    await usersAs(bob).testUserWebhook({ name: webhook })
    expect(await told()).toMatchObject({ type: 'test', creator: PARENT })
  })

  it('receive nothing for a rejected change', async () => {
    const { bob, carol } = users
    const { name: webhook } = await usersAs(bob).createUserWebhook({
      parent: PARENT,
      webhook: { url: receiver.url },
    })
    const memo = { memoId: 'taken', memo: { content: 'x' } }
    await memosAs(carol).createMemo(memo)
    await expect(memosAs(bob).createMemo(memo)).rejects.toThrow()
    const { deliveries } = await usersAs(bob).listUserWebhookDeliveries({ parent: webhook })
    expect(deliveries).toEqual([])
  })
})

describe.each(PROTOCOLS)('over %s', (protocol) => {
  it.each([
    ['no webhook', undefined, 'INVALID_FIELD', { field: 'webhook' }],
    ['no URL', {}, 'INVALID_WEBHOOK_URL', {}],
    ['another scheme', { url: 'file:///etc/passwd' }, 'INVALID_WEBHOOK_URL', {}],
    ['a private address', { url: 'http://10.1.2.3/' }, 'BLOCKED_ADDRESS', { host: '10.1.2.3' }],
    [
      'metadata of a cloud',
      { url: 'http://[::ffff:a9fe:a9fe]/' },
      'BLOCKED_ADDRESS',
      { host: '[::ffff:a9fe:a9fe]' },
    ],
    [
      'a bad secret',
      { url: 'http://127.0.0.1/', signingSecret: 'whsec_AA==' },
      'INVALID_SIGNING_SECRET',
      {},
    ],
  ])('refuses %s', async (_, webhook, reason, metadata) => {
    const made = call(
      method.createUserWebhook,
      { parent: PARENT, ...(webhook && { webhook }) },
      `POST /api/v1/${PARENT}/webhooks`,
      webhook,
    )
    expect(await invoke(server.url, protocol, made, users.bob.authorization)).toEqual({
      code: 'InvalidArgument',
      reason,
      metadata,
    })
  })

  it('uses the fields of a REST body, or the non-empty fields, as the mask', async () => {
    const webhook = { url: receiver.url, displayName: 'old' }
    const { name } = await usersAs(users.bob).createUserWebhook({ parent: PARENT, webhook })
    const changes = { displayName: 'new' }
    const update = call(
      method.updateUserWebhook,
      { webhook: { name, ...changes } },
      `PATCH /api/v1/${name}`,
      changes,
    )
    expect(await invoke(server.url, protocol, update, users.bob.authorization)).toMatchObject({
      message: { name, url: receiver.url, displayName: 'new' },
    })
  })
})
