import { randomInt } from 'node:crypto'
import { checkLeases } from '../../platform/concurrency/leases.ts'
import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { OutboundError, type OutboundFailure } from '../../platform/outbound/errors.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../core/scheduled-work.ts'
import * as rows from '../webhooks/outbox/webhook-deliveries.rows.ts'
import { disableUserWebhook } from '../webhooks/registration/account-webhooks.rows.ts'
import { type DeliveryRequest, type Refused, requestOf } from './delivery-requests.ts'
import type { DeliveriesApp } from './ports.ts'

/**
 * The maximum number of concurrent requests. Each holds a socket and at most 64 KiB of a response.
 */
const MAX_CONCURRENT = 32

/** More of them, each the only one of its account. */
const FIRST_CONCURRENT = 32

/** The maximum number of concurrent requests for the webhooks of one account. */
const MAX_CONCURRENT_PER_OWNER = 4

/**
 * Sends deliveries when they are due, until the worker is stopped.
 *
 * @param userAgent the value of the User-Agent header.
 */
export function startDeliveries(app: DeliveriesApp, userAgent: string): DueWorker {
  return startDueWork(app, deliveries(app, userAgent))
}

/**
 * Sends deliveries until none is due. For tests, whose clock stands still.
 *
 * @param userAgent the value of the User-Agent header.
 */
export function deliverDue(app: DeliveriesApp, userAgent: string): Promise<void> {
  return finishDueWork(app, deliveries(app, userAgent))
}

/** Each webhook has at most one delivery in progress. */
function deliveries(app: DeliveriesApp, userAgent: string): DueWork {
  return {
    failure: 'a webhook delivery could not be made or recorded',
    maxRunning: MAX_CONCURRENT,
    maxRunningPerOwner: MAX_CONCURRENT_PER_OWNER,
    firstPlaces: FIRST_CONCURRENT,
    signal: app.signals.deliveries,
    ...rows.webhookQueue(app.db),
    run: (id, until) => attemptDelivery(app, userAgent, id, until),
  }
}

/** The maximum time of an attempt, from the lookup to the end of the response. */
const ATTEMPT_TIMEOUT_MS = 15_000

/** The maximum size of a response that is read, so that the target can finish sending. */
const MAX_ANSWER_BYTES = 64 * 1024

/** The part of the response to a webhook of the forge that is stored for its administrators. */
const MAX_STORED_BYTES = 4 * 1024

/** The number of finished deliveries that are stored per webhook, for inspection and redelivery. */
const MAX_FINISHED_DELIVERIES = 100

/**
 * Retries are delayed by up to a tenth of the schedule, so that deliveries that fail together are
 * not retried together.
 */
const JITTER = 0.1

/** The maximum delay that a target can request: the longest step of the default schedule. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

/** The target is gone permanently (RFC 9110 section 15.5.11). */
const GONE = 410

const FAILURE_TEXTS: Readonly<Record<Exclude<OutboundFailure, 'CANCELLED'>, string>> = {
  UNRESOLVABLE_HOST: 'the host cannot be resolved',
  BLOCKED_ADDRESS: 'the host has a private or reserved address',
  CONNECTION_FAILED: 'the connection failed',
  TIMEOUT: `no complete answer within ${ATTEMPT_TIMEOUT_MS / 1000} s`,
}

/** The outcome of a request. */
interface Outcome {
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /** A short description; empty after a success. */
  readonly error: string
  /** The delay before the next attempt that the target requests. */
  readonly retryAfterMs: number
  readonly durationMs: number
  /** The start of the body, as text. */
  readonly responseBody: string
}

/**
 * Attempts the delivery of a webhook that has been due longest, and records the outcome.
 *
 * If the process dies between the two, the delivery is attempted again after the restart. So each
 * delivery happens at least once, always with the same id.
 *
 * @param until cancels the attempt, without a record of it.
 */
async function attemptDelivery(
  app: DeliveriesApp,
  userAgent: string,
  webhookId: number,
  until: AbortSignal,
): Promise<void> {
  const due = await rows.findDueDelivery(app.db, webhookId, app.clock.now())
  if (!due) return
  const request = await requestOf(app, userAgent, due)
  if (request === undefined) return withdraw(app, webhookId, due)
  // Another server sends the deliveries when this one was stopped for long.
  checkLeases()
  const outcome = 'refused' in request ? request : await send(app, due, request, until)
  if (outcome === 'given up') return
  await transaction(app.db, async (tx) => {
    await rows.recordAttempt(tx, webhookId, due.delivery, await resultOf(app, tx, due, outcome))
    await rows.pruneFinishedDeliveries(tx, webhookId, MAX_FINISHED_DELIVERIES)
  })
  app.log.info({ delivery: due.delivery.uid, ...factsOf(outcome) }, 'webhook delivery attempted')
}

/** Returns what the log tells of an outcome. */
function factsOf(outcome: Outcome | Refused): object {
  if ('refused' in outcome) return { error: outcome.refused }
  const { responseBody: _, ...facts } = outcome
  return facts
}

/** Deletes a delivery, so that it does not reveal a resource that its receiver may not read. */
async function withdraw(
  app: DeliveriesApp,
  webhookId: number,
  { delivery }: rows.DueDelivery,
): Promise<void> {
  await transaction(app.db, (tx) => rows.deleteDelivery(tx, webhookId, delivery.id))
  app.log.info({ delivery: delivery.uid }, 'webhook delivery withdrawn')
}

async function send(
  app: DeliveriesApp,
  { webhook }: rows.DueDelivery,
  { body, headers }: DeliveryRequest,
  until: AbortSignal,
): Promise<Outcome | 'given up'> {
  const startMs = app.clock.now()
  try {
    const answer = await app.outbound.send(
      { method: 'POST', url: new URL(webhook.url), headers, body },
      { timeoutMs: ATTEMPT_TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES, signal: until },
    )
    const { status } = answer
    const error = status >= 200 && status <= 299 ? '' : `status ${status}`
    return {
      status,
      error,
      retryAfterMs: readRetryAfter(answer.headers.get('retry-after'), app.clock.now()),
      durationMs: app.clock.now() - startMs,
      responseBody: webhook.scope === 'account' ? '' : shownText(answer.body),
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.failure === 'CANCELLED') return 'given up'
    const durationMs = app.clock.now() - startMs
    const text = FAILURE_TEXTS[error.failure]
    return { status: 0, error: text, retryAfterMs: 0, durationMs, responseBody: '' }
  }
}

/** Returns the start of a response. PostgreSQL stores no zero bytes in texts. */
function shownText(body: Buffer): string {
  return body.subarray(0, MAX_STORED_BYTES).toString().replaceAll('\0', '\uFFFD')
}

/** Returns the new state of a delivery. Disables its webhook when the target is gone. */
async function resultOf(
  app: DeliveriesApp,
  tx: Tx,
  { delivery, webhook }: rows.DueDelivery,
  outcome: Outcome | Refused,
): Promise<rows.AttemptResult> {
  const over = { state: 'FAILED', next_attempt_time: null } as const
  if ('refused' in outcome) return { ...over, error: outcome.refused }
  const now = app.clock.now()
  const attempt = {
    attempt_count: delivery.attempt_count + 1,
    response_status: outcome.status,
    error: outcome.error,
    last_attempt_time: now,
    duration_ms: outcome.durationMs,
    response_body: outcome.responseBody,
  }
  if (outcome.error === '') return { ...attempt, state: 'DELIVERED', next_attempt_time: null }
  if (outcome.status === GONE && (await disableUserWebhook(tx, webhook.id, webhook.url))) {
    await rows.failWaitingDeliveries(tx, webhook.id, 'the webhook was switched off')
    return { ...attempt, ...over }
  }
  const delayMs = app.settings.webhookRetryScheduleMs[delivery.failures]
  if (delayMs === undefined) return { ...attempt, ...over }
  return {
    ...attempt,
    state: 'PENDING',
    failures: delivery.failures + 1,
    next_attempt_time: now + Math.max(withJitter(delayMs), outcome.retryAfterMs),
  }
}

function withJitter(delayMs: number): number {
  return delayMs + randomInt(Math.ceil(delayMs * JITTER) + 1)
}

/**
 * Returns the delay that a Retry-After header requests (RFC 9110 section 10.2.3), as seconds or a
 * date.
 *
 * @param now Unix milliseconds.
 * @returns milliseconds; 0 without a valid header.
 */
export function readRetryAfter(value: string | undefined, now: number): number {
  if (value === undefined) return 0
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : 0
}
