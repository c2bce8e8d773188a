import { randomBytes } from 'node:crypto'
import { isForeignKeyViolation, transaction } from '../../../platform/database/database.ts'
import type { Db } from '../../../platform/database/schema.ts'
import { open, seal } from '../../accounts/credentials/sealed-secrets.ts'
import type { AccountsApp } from '../../accounts/ports.ts'
import { requirePresent } from '../../accounts/users/users.ts'
import { checkSeesPrivate, holdsScope, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import { failWaitingDeliveries } from '../outbox/webhook-deliveries.rows.ts'
import type { UserWebhook, UserWebhookChanges } from '../schema.ts'
import { insertUserWebhook, updateUserWebhook } from './account-webhooks.rows.ts'
import { sealSigningSecret } from './account-webhooks.ts'
import {
  checkDestination,
  type HookValues,
  type NewHookValues,
  readHookValues,
  readNewHookValues,
} from './webhook-values.ts'
import * as rows from './webhooks.rows.ts'

/**
 * Webhooks of the forge at any place. A webhook acts for the account that set it up, or that edited
 * it last. Callers check who may manage the webhooks of a place.
 */

export type Hook = UserWebhook

export type HookPlace = rows.HookPlace

/** A page of webhooks. */
interface HookPage {
  readonly hooks: readonly Hook[]
  /** The number of webhooks on all pages. */
  readonly total: number
}

/** The number of webhooks of one place. Each change there queues a delivery for each of them. */
const MAX_HOOKS = 50

/** 64 random bits make a uid unique. It need not be secret. */
const UID_BYTES = 8

/** The purpose of the key that seals headers. */
const HEADER_PURPOSE = 'webhook-authorization'

/** The error of deliveries that an inactive webhook abandons. */
const SWITCHED_OFF = 'the webhook was switched off'

/** Returns a page of the webhooks of a place, oldest first. */
export async function listHooks(
  app: AccountsApp,
  place: HookPlace,
  { offset, limit }: Page,
): Promise<HookPage> {
  return {
    hooks: await rows.listHooks(app.db, place, offset, limit),
    total: await rows.countHooks(app.db, place),
  }
}

/** Returns a webhook of a place. */
export async function getHook(db: Db, place: HookPlace, id: bigint): Promise<Hook> {
  const hook = await rows.findHook(db, place, Number(id))
  if (!hook) throw new DomainError('WEBHOOK_NOT_FOUND', { name: `hooks/${id}` })
  return hook
}

/** Adds a webhook to a place. */
export async function createHook(
  app: AccountsApp,
  caller: SignedIn,
  place: HookPlace,
  values: NewHookValues,
): Promise<Hook> {
  // A token that administers a repository can already read it.
  if (place.scope !== 'repository') checkTokenReadsRepositories(caller)
  const { type, ...valid } = readNewHookValues(values)
  // The webhook would outlive a change of the repository that hides it from the token.
  checkSeesPrivate(caller)
  // Also checked before the lookup of the host, which is slower.
  await checkQuota(app.db, place)
  await checkDestination(app, caller.user, valid.url)
  const time = nowSeconds(app.clock)
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, caller.user)
    await checkQuota(tx, place)
    return insertUserWebhook(tx, {
      ...columnsOf(app, valid),
      ...place,
      type,
      url: valid.url,
      chat: JSON.stringify(valid.chat),
      signing_secret: sealSigningSecret(app, valid.secret),
      user_id: caller.user.id,
      uid: randomBytes(UID_BYTES).toString('hex'),
      display_name: '',
      create_time: time,
      update_time: time,
    }).catch((error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error
      throw new DomainError(
        place.scope === 'repository' ? 'REPOSITORY_NOT_FOUND' : 'ORGANIZATION_NOT_FOUND',
      )
    })
  })
}

/** Changes the given properties of a webhook, all or none, and makes it act for the caller. */
export async function editHook(
  app: AccountsApp,
  caller: SignedIn,
  place: HookPlace,
  id: bigint,
  values: Partial<HookValues>,
): Promise<Hook> {
  if (place.scope !== 'repository') checkTokenReadsRepositories(caller)
  const { type } = await getHook(app.db, place, id)
  const valid = readHookValues(type, values)
  checkSeesPrivate(caller)
  if (valid.url !== undefined) await checkDestination(app, caller.user, valid.url)
  return transaction(app.db, async (tx) => {
    const present = await getHook(tx, place, id)
    await requirePresent(tx, caller.user)
    const changed = await updateUserWebhook(tx, present.id, {
      ...columnsOf(app, valid),
      ...(valid.chat && {
        chat: JSON.stringify({ ...JSON.parse(present.chat), ...valid.chat }),
      }),
      user_id: caller.user.id,
      update_time: nowSeconds(app.clock),
    })
    if (changed.disabled && !present.disabled)
      await failWaitingDeliveries(tx, present.id, SWITCHED_OFF)
    return changed
  })
}

/** Deletes a webhook with its deliveries. A delivery that is being sent may still arrive. */
export async function deleteHook(app: AccountsApp, place: HookPlace, id: bigint): Promise<void> {
  await transaction(app.db, async (tx) => {
    await rows.deleteHook(tx, (await getHook(tx, place, id)).id)
  })
}

/** Returns the value of the header `Authorization` of a webhook; undefined for none. */
export function authorizationOf(
  app: AccountsApp,
  { authorization_header }: Pick<Hook, 'authorization_header'>,
): string | undefined {
  return authorization_header === null
    ? undefined
    : open(app, HEADER_PURPOSE, authorization_header).toString()
}

/**
 * Checks that the token of a caller reads repositories, since the requests of a webhook have their
 * data.
 */
export function checkTokenReadsRepositories(caller: SignedIn): void {
  checkSeesPrivate(caller)
  const scope = 'read:repository'
  if (!holdsScope(caller, scope)) throw new DomainError('SCOPE_MISSING', { scope })
}

/** Returns the columns of the properties that are given, except for the settings of a chat. */
function columnsOf(app: AccountsApp, values: Partial<HookValues>): UserWebhookChanges {
  const { url, content_type, secret, events, branch_filter, authorization_header, active } = values
  return {
    ...(url !== undefined && { url }),
    ...(content_type !== undefined && { content_type }),
    // Compatible systems sign with one secret, so the old one ends at once.
    ...(secret !== undefined && {
      signing_secret: sealSigningSecret(app, secret),
      previous_signing_secret: null,
      previous_secret_expire_time: null,
    }),
    ...(events !== undefined && { events: JSON.stringify(events) }),
    ...(branch_filter !== undefined && { branch_filter }),
    ...(authorization_header !== undefined && {
      authorization_header:
        authorization_header === ''
          ? null
          : seal(app, HEADER_PURPOSE, Buffer.from(authorization_header)),
    }),
    ...(active !== undefined && { disabled: active ? 0 : 1 }),
  }
}

async function checkQuota(db: Db, place: HookPlace): Promise<void> {
  if ((await rows.countHooks(db, place)) >= MAX_HOOKS)
    throw new DomainError('TOO_MANY_WEBHOOKS', { limit: String(MAX_HOOKS) })
}
