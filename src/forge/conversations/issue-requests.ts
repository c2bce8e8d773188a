import { createHash } from 'node:crypto'
import { transaction } from '../../platform/database/database.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { wakeWatchers } from '../repositories/activity/repository-events.ts'
import { findIssueRequest, insertIssueRequest, updateIssueRequest } from './issue-requests.rows.ts'
import type { ConversationsApp } from './ports.ts'

/** How long a request id is stored, as for CreateUser. */
const LIFETIME_S = 24 * 60 * 60

/** Printable ASCII, including spaces. */
const REQUEST_ID = /^[\x20-\x7e]{1,64}$/

/** A call that may be repeated. */
export interface RepeatableRequest {
  /** Empty for a call that is done each time. */
  readonly requestId: string
  /** What the call asks for, including the name of the method, as JSON. */
  readonly content: string
}

/**
 * Does the work of a call once, in one transaction with the note that it was done.
 *
 * @param make does the work with the given app, whose database is the transaction.
 * @returns the result of the work or, for a repeated request, of the first one.
 * @throws INVALID_REQUEST_ID, REQUEST_ID_REUSED
 */
export async function madeOnce<App extends ConversationsApp, T>(
  app: App,
  caller: SignedIn,
  request: RepeatableRequest,
  make: (app: App) => Promise<T>,
): Promise<T> {
  if (request.requestId === '') return make(app)
  const made = await transaction(app.db, async (tx) => {
    const earlier = await findResult<T>(app, tx, caller, request)
    if (earlier) return earlier.result
    const result = await make({ ...app, db: tx })
    await storeResult(app, tx, caller, request, result)
    return result
  })
  wakeWatchers(app)
  return made
}

/**
 * Returns the result of an earlier call with the same request; undefined if there is none.
 *
 * @throws INVALID_REQUEST_ID, REQUEST_ID_REUSED
 */
export async function findResult<T>(
  app: ConversationsApp,
  db: Db,
  { user }: SignedIn,
  { requestId, content }: RepeatableRequest,
): Promise<{ readonly result: T } | undefined> {
  if (requestId === '') return undefined
  if (!REQUEST_ID.test(requestId)) throw new DomainError('INVALID_REQUEST_ID')
  const found = await findIssueRequest(db, user.id, requestId)
  if (!found || found.create_time < nowSeconds(app.clock) - LIFETIME_S) return undefined
  if (found.digest !== digestOf(content))
    throw new DomainError('REQUEST_ID_REUSED', { request_id: requestId })
  // The row was written by `storeResult`.
  return { result: JSON.parse(found.result) as T }
}

/**
 * Changes the stored result of a call, which then belongs to its work so far. A call without a request
 * id has none.
 *
 * @param change of the present result.
 */
export async function changeResult<T>(
  app: ConversationsApp,
  tx: Tx,
  caller: SignedIn,
  request: RepeatableRequest,
  change: (result: T) => T,
): Promise<void> {
  const found = await findResult<T>(app, tx, caller, request)
  if (!found) return
  const result = JSON.stringify(change(found.result))
  await updateIssueRequest(tx, caller.user.id, request.requestId, result)
}

/** Stores the result of a call, if it has a request id. */
async function storeResult(
  app: ConversationsApp,
  tx: Tx,
  { user }: SignedIn,
  { requestId, content }: RepeatableRequest,
  result: unknown,
): Promise<void> {
  if (requestId === '') return
  const create_time = nowSeconds(app.clock)
  const row = {
    user_id: user.id,
    request_id: requestId,
    digest: digestOf(content),
    result: JSON.stringify(result),
    create_time,
  }
  await insertIssueRequest(tx, row, create_time - LIFETIME_S)
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}
