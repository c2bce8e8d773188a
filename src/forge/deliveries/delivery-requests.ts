import { createHmac } from 'node:crypto'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { findConversationMessage } from '../conversations/conversation-messages.rows.ts'
import { readsKind } from '../conversations/conversation-readers.ts'
import { onBehalfOf, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import type { User } from '../core/schema.ts'
import { viewConversationsById } from '../issues/issue-views.ts'
import { openRepositories } from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { DueDelivery } from '../webhooks/outbox/webhook-deliveries.rows.ts'
import { eventOf } from '../webhooks/outbox/webhook-events.ts'
import { signingSecretsOf } from '../webhooks/registration/account-webhooks.ts'
import { managesPlace } from '../webhooks/registration/owner-webhooks.ts'
import { signatureOf } from '../webhooks/registration/webhook-signing.ts'
import { authorizationOf } from '../webhooks/registration/webhooks.ts'
import type { DeliveriesApp } from './ports.ts'
import { formOf } from './webhook-forms.ts'
import { hookPayload } from './webhook-payloads.ts'

/** The body and the headers of a request. */
export interface DeliveryRequest {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** A request that must not be made, with the reason that its delivery shows. */
export interface Refused {
  readonly refused: string
}

const DENIED = 'the account of the webhook may no longer administer the repository'
const ARCHIVED = 'the account is archived'

/**
 * Returns the request of a delivery as it is at this time.
 *
 * @returns undefined when the receiver may no longer read the subject of the event, or the subject
 *   is gone.
 */
export async function requestOf(
  app: DeliveriesApp,
  userAgent: string,
  due: DueDelivery,
): Promise<DeliveryRequest | Refused | undefined> {
  const { delivery, webhook, owner } = due
  if (webhook.scope !== 'account') return hookRequest(app, userAgent, due)
  const body = await messageBody(app, delivery, owner)
  if (body === undefined) return undefined
  if (owner.state !== 'NORMAL') return { refused: ARCHIVED }
  return { body, headers: standardHeaders(app, userAgent, due, body) }
}

/** Returns the same for a webhook of the forge. */
async function hookRequest(
  app: DeliveriesApp,
  userAgent: string,
  due: DueDelivery,
): Promise<DeliveryRequest | Refused | undefined> {
  const { delivery, webhook, owner } = due
  const account = onBehalfOf(owner)
  const payload = await hookPayload(app, delivery, account)
  if (payload.kind === 'gone') return undefined
  if (owner.state !== 'NORMAL') return { refused: ARCHIVED }
  if (payload.kind === 'denied' || !(await managesPlace(app, webhook, account)))
    return { refused: DENIED }
  return signedRequest(app, userAgent, due, formOf(webhook, delivery.event_type, payload.text))
}

function standardHeaders(
  app: DeliveriesApp,
  userAgent: string,
  { delivery: { uid: id }, webhook }: DueDelivery,
  body: string,
): Record<string, string> {
  const timestamp = nowSeconds(app.clock)
  const secrets = signingSecretsOf(app, webhook).filter((secret) => secret !== '')
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    ...(secrets.length > 0 && {
      'webhook-signature': signatureOf({ id, timestamp, body }, secrets),
    }),
  }
}

/**
 * Returns a request of a webhook of the forge with its signatures. The signatures of compatible
 * systems are over the JSON text, also where the body is a form. Those of Standard Webhooks are over
 * the body.
 */
function signedRequest(
  app: DeliveriesApp,
  userAgent: string,
  due: DueDelivery,
  text: string,
): DeliveryRequest {
  const { delivery, webhook } = due
  const isForm = webhook.content_type === 'form'
  const body = isForm ? new URLSearchParams({ payload: text }).toString() : text
  const [event, id, type] = [eventOf(delivery.event_type), delivery.uid, delivery.event_type]
  const [secret = ''] = signingSecretsOf(app, webhook)
  const signature = secret === '' ? '' : createHmac('sha256', secret).update(text).digest('hex')
  const authorization = authorizationOf(app, webhook)
  const headers = {
    ...standardHeaders(app, userAgent, due, body),
    ...(isForm && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(authorization !== undefined && { authorization }),
    ...systemHeaders('gitea', event, type, id),
    ...systemHeaders('forgejo', event, type, id),
    ...systemHeaders('github', event, type, id),
    'x-gitea-signature': signature,
    'x-forgejo-signature': signature,
    ...(signature !== '' && { 'x-hub-signature-256': `sha256=${signature}` }),
  }
  return { body, headers }
}

function systemHeaders(system: string, event: string, type: string, id: string) {
  return {
    [`x-${system}-event`]: event,
    [`x-${system}-event-type`]: type,
    [`x-${system}-delivery`]: id,
  }
}

/** A message that is to be sent. */
interface WaitingMessage {
  readonly message_id: number
  /** The stored part of the message, as JSON. */
  readonly body: string
}

/**
 * Returns the current body of a message for an account. The body shows an issue or a pull request in
 * its current state, as far as the account may read it.
 *
 * @returns JSON; undefined when the account may no longer read the issue or pull request.
 */
async function messageBody(
  app: DeliveriesApp,
  { message_id, body }: WaitingMessage,
  receiver: User,
): Promise<string | undefined> {
  const about = await findConversationMessage(app.db, message_id)
  if (!about) return body
  const reader = onBehalfOf(receiver)
  const facts = JSON.parse(body) as MessageFacts
  const subject = await subjectOf(app, reader, about.issue_id, facts)
  if (!subject) return undefined
  const actor =
    about.actor_id === null ? undefined : ((await findOwnerById(app.db, about.actor_id)) ?? GHOST)
  return JSON.stringify({
    ...facts,
    sender: actor ? JSON.parse(app.payloads.account(app, reader, actor)) : null,
    ...subject,
  })
}

/** What messages about conversations store. */
interface MessageFacts {
  readonly number: number
  /** Only of a deleted issue: its repository, whose issues the receiver has to be able to read. */
  readonly repository_id?: number
}

/** Returns the issue or pull request of a message; undefined when the reader may not read it. */
async function subjectOf(
  app: DeliveriesApp,
  reader: SignedIn,
  id: number,
  { number, repository_id }: MessageFacts,
): Promise<object | undefined> {
  if (repository_id !== undefined) {
    const repository = await findRepositoryById(app.db, repository_id)
    const [open] = repository ? await openRepositories(app, reader, [repository], 'issues') : []
    return open && readsKind(open.units, { is_pull: 0 }) ? { issue: { id, number } } : undefined
  }
  const [view] = await viewConversationsById(app, reader, [id])
  if (!view) return undefined
  return view.kind === 'issue'
    ? { issue: JSON.parse(app.payloads.issue(app, reader, view)) }
    : { pull_request: JSON.parse(app.payloads.pullRequest(app, reader, view.pull)) }
}
