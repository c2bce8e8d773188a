import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { type OpenRepository, openRepositoryById } from '../repositories/access/permissions.ts'
import type { RepositoryFacts } from '../repositories/activity/repository-webhook-events.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { viewRepository } from '../repositories/lifecycle/repository-views.ts'
import type { RefFacts } from '../webhooks/outbox/ref-observer.ts'
import type { HookFacts } from '../webhooks/outbox/webhook-queue.ts'
import { checkTokenReadsRepositories, type Hook } from '../webhooks/registration/webhooks.ts'
import type { WebhookDelivery } from '../webhooks/schema.ts'
import type { DeliveriesApp } from './payloads.ts'
import { formOf } from './webhook-forms.ts'
import { commentPayload, pullPayload } from './webhook-pulls.ts'
import { createPayload, deletePayload, type HookSubject, pushPayload } from './webhook-pushes.ts'
import {
  deletionPayload,
  forkPayload,
  releasePayload,
  repositoryPayload,
  statusPayload,
} from './webhook-resources.ts'

/** Builds the JSON object of an event; undefined if its subject is gone. */
type Builder = (
  app: DeliveriesApp,
  // biome-ignore lint/suspicious/noExplicitAny: the type of an event decides about its facts
  subject: HookSubject<any>,
) => Promise<object | undefined>

/** The builders of events other than those of pull requests and deleted repositories. */
const BUILDERS: Readonly<Record<string, Builder>> = {
  push: pushPayload,
  create: createPayload,
  delete: async (_, subject: HookSubject<RefFacts>) => deletePayload(subject),
  fork: forkPayload,
  repository: async (_, { repository, sender }: HookSubject<RepositoryFacts>) =>
    repositoryPayload('created', repository, sender),
  release: releasePayload,
  status: statusPayload,
  pull_request_comment: commentPayload,
}

/** The text of an event, or why there is none. */
export type HookPayload =
  | { readonly kind: 'payload'; readonly text: string }
  /** The account for which the webhook acts may no longer administer the repository. */
  | { readonly kind: 'denied' }
  /** The subject of the event or its repository is gone. */
  | { readonly kind: 'gone' }

/**
 * Returns the present JSON text of an event.
 *
 * @param viewer the account for which the webhook acts.
 * @throws SERVER_BUSY
 */
export async function hookPayload(
  app: DeliveriesApp,
  { event_type, body }: Pick<WebhookDelivery, 'event_type' | 'body'>,
  viewer: SignedIn,
): Promise<HookPayload> {
  const facts = JSON.parse(body) as HookFacts & Pick<RepositoryFacts, 'deleted'>
  if (facts.deleted) return payloadOf(await deletionPayload(app, viewer, facts, facts.deleted))
  const open = await administered(app, viewer, facts.repository)
  if (!open) {
    const isGone = (await findRepositoryById(app.db, facts.repository)) === undefined
    return { kind: isGone ? 'gone' : 'denied' }
  }
  const view = await viewRepository(app, viewer, open)
  const actor =
    facts.actor === null ? open.owner : ((await findOwnerById(app.db, facts.actor)) ?? GHOST)
  const build: Builder = BUILDERS[event_type] ?? pullPayload
  const payload = await build(app, {
    facts,
    viewer,
    open,
    repository: JSON.parse(app.payloads.repository(app, viewer, view)),
    sender: JSON.parse(app.payloads.account(app, viewer, actor)),
  })
  return payload ? payloadOf(payload) : { kind: 'gone' }
}

function payloadOf(payload: object): HookPayload {
  return { kind: 'payload', text: JSON.stringify(payload) }
}

/**
 * Returns the JSON text that the next attempt of a delivery would send, as a viewer may read it;
 * empty for none.
 *
 * @throws SERVER_BUSY; PUBLIC_ONLY_TOKEN, SCOPE_MISSING for a token that does not read repositories.
 */
export async function deliveryPayload(
  app: DeliveriesApp,
  hook: Hook,
  delivery: Pick<WebhookDelivery, 'event_type' | 'body'>,
  viewer: SignedIn,
): Promise<string> {
  checkTokenReadsRepositories(viewer)
  const payload = await hookPayload(app, delivery, viewer)
  return payload.kind === 'payload' ? formOf(hook, delivery.event_type, payload.text) : ''
}

/** Opens a repository that a user administers; undefined for another one. */
async function administered(
  app: DeliveriesApp,
  viewer: SignedIn,
  repositoryId: number,
): Promise<OpenRepository | undefined> {
  try {
    return await openRepositoryById(app, viewer, repositoryId, 'admin')
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}
