import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { disableUserWebhook } from '../../../../src/forge/webhooks/registration/account-webhooks.rows.ts'
import {
  createUserWebhook,
  deleteUserWebhook,
  getUserWebhook,
  listUserWebhooks,
  signingSecretOf,
  signingSecretsOf,
  type UserWebhookValues,
  updateUserWebhook,
} from '../../../../src/forge/webhooks/registration/account-webhooks.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { parseAllowedHosts } from '../../../../src/platform/outbound/allowed-hosts.ts'
import { createOutbound } from '../../../../src/platform/outbound/outbound.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'

const DAY_S = 24 * 60 * 60
const NAME = 'users/ada/webhooks/0'
const SECRETS = ['one secret', 'another secret', 'a third secret'] as const

let app: TestApp
let ada: User
let lookups: number

beforeEach(async () => {
  lookups = 0
  const outbound = createOutbound({
    allowedHosts: parseAllowedHosts(''),
    ownAddresses: () => [],
    async resolve(name) {
      lookups++
      return name === 'inside.example' ? ['10.0.0.1'] : name === 'gone.example' ? [] : ['8.8.8.8']
    },
  })
  app = await testApp({}, { outbound })
  ada = await addUser(app, 'ada')
})

const add = (values: Partial<UserWebhookValues> = {}, owner = ada) =>
  createUserWebhook(app, owner, {
    url: 'https://a.example/',
    display_name: '',
    signing_secret: '',
    ...values,
  })

const refused = (reason: string) => expect.objectContaining({ reason })

describe('createUserWebhook', () => {
  it('creates a webhook with an id, times and a generated secret', async () => {
    app.clock.advance(0.5)
    const webhook = await add({ url: ' https://a.example:8443/in?key=1 ', display_name: 'CI' })
    expect(webhook).toMatchObject({
      url: 'https://a.example:8443/in?key=1',
      display_name: 'CI',
      disabled: 0,
    })
    expect(webhook.uid).toMatch(/^[0-9a-f]{16}$/)
    expect([webhook.create_time, webhook.update_time]).toEqual(
      Array(2).fill(Date.UTC(2026, 4, 1, 10) / 1000),
    )
    expect(signingSecretOf(app, webhook)).toMatch(/^whsec_/)
    expect(signingSecretOf(app, await add())).not.toBe(signingSecretOf(app, webhook))
  })

  it('seals a given secret', async () => {
    const webhook = await add({ signing_secret: SECRETS[0] })
    expect(signingSecretOf(app, webhook)).toBe(SECRETS[0])
    const { rows } = await sql`select * from user_webhooks`.execute(app.db)
    expect(JSON.stringify(rows)).toContain('https://a.example/')
    expect(
      rows
        .flatMap((row) => Object.values(row as object))
        .map(String)
        .join(),
    ).not.toContain(SECRETS[0])
  })

  it.each([
    ['no URL', { url: '' }, 'INVALID_WEBHOOK_URL'],
    ['another scheme', { url: 'ftp://a.example/' }, 'INVALID_WEBHOOK_URL'],
    ['no scheme', { url: 'a.example' }, 'INVALID_WEBHOOK_URL'],
    ['no host', { url: 'https://' }, 'INVALID_WEBHOOK_URL'],
    ['a relative URL', { url: 'https:a.example' }, 'INVALID_WEBHOOK_URL'],
    ['backslashes', { url: 'https:\\\\a.example\\' }, 'INVALID_WEBHOOK_URL'],
    [
      'a backslash that ends the host',
      { url: 'https://a.example\\@b.example/' },
      'INVALID_WEBHOOK_URL',
    ],
    ['a user name', { url: 'https://ada@a.example/' }, 'INVALID_WEBHOOK_URL'],
    ['a password', { url: 'https://ada:secret@a.example/' }, 'INVALID_WEBHOOK_URL'],
    ['empty user information', { url: 'https://@a.example/' }, 'INVALID_WEBHOOK_URL'],
    ['a fragment', { url: 'https://a.example/#x' }, 'INVALID_WEBHOOK_URL'],
    ['an empty fragment', { url: 'https://a.example/#' }, 'INVALID_WEBHOOK_URL'],
    ['a blank', { url: 'https://a.example/a b' }, 'INVALID_WEBHOOK_URL'],
    ['a line break', { url: 'https://a.exa\nmple/' }, 'INVALID_WEBHOOK_URL'],
    ['a port that is none', { url: 'https://a.example:65536/' }, 'INVALID_WEBHOOK_URL'],
    ['a zone', { url: 'http://[fe80::1%25eth0]/' }, 'INVALID_WEBHOOK_URL'],
    ['a long URL', { url: `https://a.example/${'x'.repeat(2031)}` }, 'INVALID_WEBHOOK_URL'],
    ['a host that nobody knows', { url: 'https://gone.example/' }, 'INVALID_WEBHOOK_URL'],
    ['a private host', { url: 'https://inside.example/' }, 'BLOCKED_ADDRESS'],
    ['an odd spelling of loopback', { url: 'http://0x7f.1/' }, 'BLOCKED_ADDRESS'],
    ['a long display name', { display_name: '😀'.repeat(129) }, 'INVALID_FIELD'],
    ['a short key', { signing_secret: 'whsec_AAAA' }, 'INVALID_SIGNING_SECRET'],
  ])('refuses %s', async (_, values, reason) => {
    await expect(add(values)).rejects.toEqual(refused(reason))
    expect(await listUserWebhooks(app, ada)).toEqual([])
  })

  it('accepts values at the limits', async () => {
    const url = `https://a.example/${'x'.repeat(2030)}`
    await expect(add({ url, display_name: '😀'.repeat(128) })).resolves.toMatchObject({ url })
    await expect(add({ url: 'http://8.8.8.8:1/@/?q=@' })).resolves.toBeDefined()
  })

  it('names the blocked host in its normalised form, without the rest of the URL', async () => {
    await expect(add({ url: 'http://0x7f.1/?key=secret' })).rejects.toMatchObject({
      metadata: { host: '127.0.0.1' },
    })
  })

  it('creates none for an account that is deleted during the lookup', async () => {
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    await expect(add()).rejects.toEqual(refused('USER_NOT_FOUND'))
  })

  it('creates 100 webhooks for an account at most, also with concurrent requests', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 110 }, () => add()))
    const refusals = asked.filter(({ status }) => status === 'rejected')
    expect(refusals).toEqual(
      Array(10).fill({ status: 'rejected', reason: refused('TOO_MANY_WEBHOOKS') }),
    )
    expect(await listUserWebhooks(app, ada)).toHaveLength(100)
    await expect(add({}, await addUser(app, 'bob'))).resolves.toBeDefined()
    lookups = 0
    await expect(add()).rejects.toMatchObject({
      reason: 'TOO_MANY_WEBHOOKS',
      metadata: { limit: '100' },
    })
    expect(lookups).toBe(0)
  })
})

describe('updateUserWebhook', () => {
  it('changes the given fields, and the time', async () => {
    const webhook = await add({ display_name: 'old' })
    app.clock.advance(60)
    const updated = await updateUserWebhook(app, webhook, { display_name: 'new' }, NAME)
    expect(updated).toEqual({
      ...webhook,
      display_name: 'new',
      update_time: webhook.update_time + 60,
    })
    expect(lookups).toBe(1)
  })

  it('changes nothing without fields', async () => {
    const webhook = await add()
    app.clock.advance(60)
    expect(await updateUserWebhook(app, webhook, {}, NAME)).toEqual(webhook)
  })

  it.each([
    [{ url: '' }, 'INVALID_WEBHOOK_URL'],
    [{ url: 'https://inside.example/' }, 'BLOCKED_ADDRESS'],
    [{ url: 'https://b.example/', display_name: 'x'.repeat(129) }, 'INVALID_FIELD'],
    [{ url: 'https://b.example/', signing_secret: '' }, 'INVALID_SIGNING_SECRET'],
  ])('refuses %j as a whole', async (values, reason) => {
    const webhook = await add()
    await expect(updateUserWebhook(app, webhook, values, NAME)).rejects.toEqual(refused(reason))
    expect(await listUserWebhooks(app, ada)).toEqual([webhook])
  })

  it('signs with the previous secret too, for a day', async () => {
    let webhook = await add({ signing_secret: SECRETS[0] })
    const replace = async (signing_secret: string) => {
      webhook = await updateUserWebhook(app, webhook, { signing_secret }, NAME)
    }
    await replace(SECRETS[1])
    expect(signingSecretsOf(app, webhook)).toEqual([SECRETS[1], SECRETS[0]])
    app.clock.advance(DAY_S - 1)
    // Setting the same secret again is no change.
    await replace(SECRETS[1])
    expect(signingSecretsOf(app, webhook)).toEqual([SECRETS[1], SECRETS[0]])
    app.clock.advance(1)
    expect(signingSecretsOf(app, webhook)).toEqual([SECRETS[1]])
    await replace(SECRETS[2])
    expect(signingSecretsOf(app, webhook)).toEqual([SECRETS[2], SECRETS[1]])
  })

  it('enables a disabled webhook when the URL is set, even to the same value', async () => {
    const webhook = await add()
    await transaction(app.db, (tx) => disableUserWebhook(tx, webhook.id, webhook.url))
    expect((await updateUserWebhook(app, webhook, { display_name: 'x' }, NAME)).disabled).toBe(1)
    expect((await updateUserWebhook(app, webhook, { url: webhook.url }, NAME)).disabled).toBe(0)
  })

  it('does not find a deleted webhook', async () => {
    const webhook = await add()
    await deleteUserWebhook(app, ada, webhook.uid)
    await expect(
      updateUserWebhook(app, webhook, { display_name: 'x' }, NAME),
    ).rejects.toMatchObject({
      reason: 'WEBHOOK_NOT_FOUND',
      metadata: { name: NAME },
    })
  })
})

describe('webhooks', () => {
  it('are listed in the order of creation, per account', async () => {
    const bob = await addUser(app, 'bob')
    const made = [await add(), await add(), await add()]
    const other = await add({}, bob)
    expect(await listUserWebhooks(app, ada)).toEqual(made)
    await expect(getUserWebhook(app, ada, other.uid, NAME)).rejects.toMatchObject({
      metadata: { name: NAME },
    })
    expect(await deleteUserWebhook(app, ada, other.uid)).toBe(false)
    expect(await getUserWebhook(app, bob, other.uid, NAME)).toEqual(other)
  })

  it('are deleted with their account', async () => {
    await add()
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    expect(await listUserWebhooks(app, ada)).toEqual([])
  })
})
