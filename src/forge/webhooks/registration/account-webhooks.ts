import { randomBytes } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Db } from '../../../platform/database/schema.ts'
import { open, seal } from '../../accounts/credentials/sealed-secrets.ts'
import type { AccountsApp } from '../../accounts/ports.ts'
import { requirePresent } from '../../accounts/users/users.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { UserWebhook, UserWebhookChanges } from '../schema.ts'
import * as rows from './account-webhooks.rows.ts'
import { checkSigningSecret, newSigningSecret } from './webhook-signing.ts'
import { checkDestination, readTarget } from './webhook-values.ts'

const MAX_WEBHOOKS = 100
const MAX_DISPLAY_NAME_CHARACTERS = 128

/** 64 random bits make a uid unique. It need not be secret. */
const UID_BYTES = 8

/**
 * The time for which a replaced secret still signs deliveries, so that receivers can change to the
 * new secret without rejecting a delivery.
 */
const SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000

/** The purpose of the key that seals signing secrets. */
const SECRET_PURPOSE = 'webhook-signing'

/** The settings of a webhook that a caller chooses. */
export interface UserWebhookValues {
  readonly url: string
  readonly display_name: string
  readonly signing_secret: string
}

/** Returns the webhooks of an account in the order of their creation, at most 100. */
export function listUserWebhooks(app: AccountsApp, owner: User): Promise<UserWebhook[]> {
  return rows.listUserWebhooks(app.db, owner.id)
}

/**
 * Returns a webhook of an account.
 *
 * @param name the resource name of the webhook, for errors.
 */
export async function getUserWebhook(
  app: AccountsApp,
  owner: User,
  uid: string,
  name: string,
): Promise<UserWebhook> {
  const webhook = await rows.findUserWebhook(app.db, owner.id, uid)
  if (!webhook) throw new DomainError('WEBHOOK_NOT_FOUND', { name })
  return webhook
}

/** Adds a webhook to an account. An empty secret is replaced by a generated one. */
export async function createUserWebhook(
  app: AccountsApp,
  owner: User,
  values: UserWebhookValues,
): Promise<UserWebhook> {
  const { signing_secret: secret = newSigningSecret(), ...columns } = checkValues({
    url: values.url,
    display_name: values.display_name,
    ...(values.signing_secret !== '' && { signing_secret: values.signing_secret }),
  })
  // Also checked before the lookup of the host, which is slower.
  await checkWebhookQuota(app.db, owner)
  await checkDestination(app, owner, columns.url)
  const time = nowSeconds(app.clock)
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, owner)
    await checkWebhookQuota(tx, owner)
    return rows.insertUserWebhook(tx, {
      ...columns,
      uid: randomBytes(UID_BYTES).toString('hex'),
      user_id: owner.id,
      signing_secret: sealSigningSecret(app, secret),
      create_time: time,
      update_time: time,
    })
  })
}

/**
 * Changes the given fields of a webhook, all or none. A new URL enables a disabled webhook. A new
 * secret replaces the old one, which still signs deliveries for a day.
 *
 * @param name the resource name of the webhook, for errors.
 */
export async function updateUserWebhook(
  app: AccountsApp,
  webhook: UserWebhook,
  values: Partial<UserWebhookValues>,
  name: string,
): Promise<UserWebhook> {
  const { signing_secret: secret, ...columns } = checkValues(values)
  if (columns.url !== undefined) await checkDestination(app, { id: webhook.user_id }, columns.url)
  return transaction(app.db, async (tx) => {
    const present = await rows.findUserWebhook(tx, webhook.user_id, webhook.uid)
    if (!present) throw new DomainError('WEBHOOK_NOT_FOUND', { name })
    if (Object.keys(values).length === 0) return present
    return rows.updateUserWebhook(tx, present.id, {
      ...columns,
      ...(columns.url !== undefined && { disabled: 0 }),
      ...(secret !== undefined && replaceSecret(app, present, secret)),
      update_time: nowSeconds(app.clock),
    })
  })
}

/**
 * Deletes a webhook with its deliveries. A delivery that is being sent may still arrive.
 *
 * @returns whether the account had the webhook.
 */
export function deleteUserWebhook(app: AccountsApp, owner: User, uid: string): Promise<boolean> {
  return rows.deleteUserWebhook(app.db, owner.id, uid)
}

/** Returns the stored form of a signing secret. */
export function sealSigningSecret(app: AccountsApp, secret: string): Buffer {
  return seal(app, SECRET_PURPOSE, Buffer.from(secret))
}

/** Returns the signing secret of a webhook. */
export function signingSecretOf(
  app: AccountsApp,
  webhook: Pick<UserWebhook, 'signing_secret'>,
): string {
  return open(app, SECRET_PURPOSE, webhook.signing_secret).toString()
}

/** Returns the secrets that currently sign the deliveries of a webhook, the newest first. */
export function signingSecretsOf(
  app: AccountsApp,
  webhook: Pick<
    UserWebhook,
    'signing_secret' | 'previous_signing_secret' | 'previous_secret_expire_time'
  >,
): string[] {
  const { previous_signing_secret: previous, previous_secret_expire_time: expireTime } = webhook
  const overlaps = previous !== null && (expireTime ?? 0) > app.clock.now()
  return [webhook.signing_secret, ...(overlaps ? [previous] : [])].map((sealed) =>
    signingSecretOf(app, { signing_secret: sealed }),
  )
}

function replaceSecret(app: AccountsApp, present: UserWebhook, secret: string): UserWebhookChanges {
  // An unchanged secret does not end the overlap with the previous one.
  if (secret === signingSecretOf(app, present)) return {}
  return {
    signing_secret: sealSigningSecret(app, secret),
    previous_signing_secret: present.signing_secret,
    previous_secret_expire_time: app.clock.now() + SECRET_OVERLAP_MS,
  }
}

function checkValues<V extends Partial<UserWebhookValues>>(values: V): V {
  const { url, display_name, signing_secret } = values
  if (display_name !== undefined && [...display_name].length > MAX_DISPLAY_NAME_CHARACTERS) {
    const max_length = String(MAX_DISPLAY_NAME_CHARACTERS)
    throw new DomainError('INVALID_FIELD', { field: 'webhook.display_name', max_length })
  }
  if (signing_secret !== undefined) checkSigningSecret(signing_secret)
  return url === undefined ? values : { ...values, url: readTarget(url) }
}

async function checkWebhookQuota(db: Db, owner: User): Promise<void> {
  if ((await rows.countUserWebhooks(db, owner.id)) >= MAX_WEBHOOKS) {
    throw new DomainError('TOO_MANY_WEBHOOKS', { limit: String(MAX_WEBHOOKS) })
  }
}
