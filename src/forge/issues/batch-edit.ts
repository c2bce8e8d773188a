import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { addAssignees, removeAssignees } from '../conversations/assignees.ts'
import {
  editConversationLabels,
  type LabelDifference,
} from '../conversations/conversation-labels.ts'
import { openConversations } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { createIssueComment } from '../conversations/issue-comments.ts'
import {
  changeResult,
  findResult,
  madeOnce,
  type RepeatableRequest,
} from '../conversations/issue-requests.ts'
import { lockConversation, unlockConversation } from '../conversations/locks.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { Conversation } from '../conversations/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError, outsideError, type Reason } from '../core/errors.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
import { checkNotArchived } from '../repositories/access/permissions.ts'
import { wakeWatchers } from '../repositories/activity/repository-events.ts'
import { numbersOfQuery } from './issue-lists.ts'
import { findNamed } from './open-issues.ts'

/** Maximum number of conversations of one call. */
const MAX_CONVERSATIONS = 200

/** What changes in each conversation. */
export interface BatchEdit {
  /** Undefined for no change. */
  readonly labels: LabelDifference | undefined
  readonly addAssignees: readonly string[]
  readonly removeAssignees: readonly string[]
  /** Whether the milestone or the due date changes. */
  readonly plans: boolean
  /** Changes the fields of one conversation. Undefined for no change. */
  readonly editFields:
    | ((app: ConversationsApp, caller: SignedIn, name: ConversationName) => Promise<unknown>)
    | undefined
  /** The reason of the lock; null to unlock, undefined for no change. */
  readonly lock: string | null | undefined
  /** Empty for none. */
  readonly comment: string
}

/** How a batch is done. */
export interface BatchOptions {
  /** Whether users are told. */
  readonly notifies: boolean
  /** Whether nothing is changed. */
  readonly validatesOnly: boolean
}

/** What happened to one conversation. */
export interface BatchResult {
  readonly number: number
  readonly changed: boolean
  /** The reason of a failure. */
  readonly reason?: Reason
}

/** The result of one conversation as stored, before and after its change. */
type StoredResult = BatchResult | { readonly number: number }

/** Conversations of a repository, by their numbers or by a query. */
interface ChosenConversations {
  readonly numbers: readonly number[]
  /** Empty for the numbers. The query is evaluated before the first change. */
  readonly query: string
}

/**
 * Changes conversations of a repository, the lowest number first, each in a transaction of its own. A
 * failure stops none of the others. With a request id, a repeated request goes on where the first one
 * stopped, and returns the results of both.
 *
 * @throws as `openConversations`; REPOSITORY_ARCHIVED, INVALID_FIELD, INVALID_REQUEST_ID,
 *   REQUEST_ID_REUSED
 */
export async function batchEdit(
  app: ConversationsApp,
  caller: SignedIn,
  name: RepositoryName,
  chosen: ChosenConversations,
  edit: BatchEdit,
  { request, notifies, validatesOnly }: BatchOptions & { readonly request: RepeatableRequest },
): Promise<readonly BatchResult[]> {
  const open = await openConversations(app, caller, name)
  checkNotArchived(open.repository)
  const numbers = [...new Set(chosen.numbers)].sort((a, b) => a - b)
  const hasQuery = chosen.query !== ''
  if (numbers.length > MAX_CONVERSATIONS || hasQuery === numbers.length > 0)
    throw new DomainError('INVALID_FIELD', {
      field: 'numbers',
      rule: `has 1 to ${MAX_CONVERSATIONS} numbers, and none beside a query`,
    })
  const begin = async (within: ConversationsApp): Promise<readonly StoredResult[]> => {
    const ordered = hasQuery
      ? await numbersOfQuery(within, caller, open, chosen.query, MAX_CONVERSATIONS)
      : numbers
    return ordered.map((number) => ({ number }))
  }
  // Nothing is stored, but a bad id is refused.
  if (validatesOnly) await findResult(app, app.db, caller, request)
  const stored = await (validatesOnly ? begin(app) : madeOnce(app, caller, request, begin))
  const quiet = notifies ? app : { ...app, isQuiet: true }
  const results: BatchResult[] = []
  for (const one of stored) {
    const conversation = { ...name, number: one.number }
    const end = (tx: Tx, result: BatchResult) =>
      endOne(app, tx, caller, validatesOnly ? undefined : request, result)
    results.push(
      'changed' in one
        ? one
        : await editOne(quiet, caller, conversation, { ...edit, validatesOnly, end }),
    )
  }
  wakeWatchers(app)
  return results
}

/** Ends a transaction whose changes are not kept. */
class Discarded extends Error {
  readonly result: BatchResult

  constructor(result: BatchResult) {
    super('the changes are not kept')
    this.result = result
  }
}

/**
 * Stores the result of one conversation, in the transaction of its change.
 *
 * @param request undefined to change nothing.
 * @throws Discarded if nothing is to change, or if the same request has ended the conversation meanwhile
 */
async function endOne(
  app: ConversationsApp,
  tx: Tx,
  caller: SignedIn,
  request: RepeatableRequest | undefined,
  result: BatchResult,
): Promise<void> {
  if (!request) throw new Discarded(result)
  await changeResult<readonly StoredResult[]>(app, tx, caller, request, (results) =>
    results.map((one) => {
      if (one.number !== result.number) return one
      if ('changed' in one) throw new Discarded(one)
      return result
    }),
  )
}

/** A change of one conversation, and what ends the change. */
interface EndedEdit extends BatchEdit {
  readonly validatesOnly: boolean
  readonly end: (tx: Tx, result: BatchResult) => Promise<void>
}

async function editOne(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: EndedEdit,
): Promise<BatchResult> {
  const { number } = name
  try {
    const { conversation } = await findNamed(app, caller, name)
    await checkRight(app, caller, name, edit)
    if (conversation.is_pull === 1) return await editPull(app, caller, name, edit)
    return await transaction(app.db, async (tx) => {
      const within = { ...app, db: tx }
      const { conversation: before } = await findNamed(within, caller, name)
      await editFields(within, caller, name, edit)
      return finish(within, caller, name, edit, before)
    })
  } catch (error) {
    if (error instanceof Discarded) return error.result
    const failure = error instanceof DomainError ? error : outsideError(error)
    if (!failure) throw error
    return refuse(app, edit, { number, changed: false, reason: failure.reason })
  }
}
/** Edits of single conversations ignore what the caller may not plan; a batch refuses it. */
async function checkRight(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: BatchEdit,
): Promise<void> {
  const people = edit.addAssignees.length + edit.removeAssignees.length
  const needsWrite = edit.labels || people > 0 || edit.plans || edit.lock !== undefined
  const right = needsWrite ? 'write' : edit.editFields ? 'poster or write' : 'take part'
  await app.conversations.open(app, caller, name, right)
}

/**
 * Changes a pull request. A change may wait for a merge, which no transaction may do. The comment, which
 * a repeated request must not make again, is last.
 */
async function editPull(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: EndedEdit,
): Promise<BatchResult> {
  if (edit.validatesOnly) return { number: name.number, changed: true }
  const { conversation: before } = await findNamed(app, caller, name)
  await editFields(app, caller, name, edit)
  return transaction(app.db, (tx) => finish({ ...app, db: tx }, caller, name, edit, before))
}

async function editFields(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: BatchEdit,
): Promise<void> {
  if (edit.labels) await editConversationLabels(app, caller, name, edit.labels)
  if (edit.addAssignees.length > 0) await addAssignees(app, caller, name, edit.addAssignees)
  if (edit.removeAssignees.length > 0)
    await removeAssignees(app, caller, name, edit.removeAssignees)
  await edit.editFields?.(app, caller, name)
  if (edit.lock === null) await unlockConversation(app, caller, name)
  else if (edit.lock !== undefined) await lockConversation(app, caller, name, edit.lock)
}

/** Adds the comment, and ends the change of a conversation. */
async function finish(
  app: ConversationsApp & { readonly db: Tx },
  caller: SignedIn,
  name: ConversationName,
  edit: EndedEdit,
  before: Conversation,
): Promise<BatchResult> {
  if (edit.comment !== '')
    await createIssueComment(app, caller, name, { body: edit.comment, attachments: [] })
  const after = await findConversation(app.db, before.id)
  const changed =
    after?.change_count !== before.change_count || after.lock_reason !== before.lock_reason
  const result = { number: name.number, changed }
  await edit.end(app.db, result)
  return result
}

/** Stores the result of a conversation that was not changed. */
async function refuse(
  app: ConversationsApp,
  edit: EndedEdit,
  result: BatchResult,
): Promise<BatchResult> {
  try {
    await transaction(app.db, (tx) => edit.end(tx, result))
    return result
  } catch (error) {
    if (error instanceof Discarded) return error.result
    throw error
  }
}
