import { transaction } from '../../platform/database/database.ts'
import { addAssignees, removeAssignees } from '../conversations/assignees.ts'
import {
  editConversationLabels,
  type LabelDifference,
} from '../conversations/conversation-labels.ts'
import { openConversations } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { createIssueComment } from '../conversations/issue-comments.ts'
import { findResult, type RepeatableRequest, storeResult } from '../conversations/issue-requests.ts'
import { lockConversation, unlockConversation } from '../conversations/locks.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError, outsideError, type Reason } from '../core/errors.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
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

/** Conversations of a repository, by their numbers or by a query. */
interface ChosenConversations {
  readonly numbers: readonly number[]
  /** Empty for the numbers. The query is evaluated before the first change. */
  readonly query: string
}

/**
 * Changes conversations of a repository, the lowest number first, each in a transaction of its own. A
 * failure stops none of the others. With a request id, a repeated request returns the results of the
 * first one.
 *
 * @throws as `openConversations`; INVALID_FIELD, INVALID_REQUEST_ID, REQUEST_ID_REUSED
 */
export async function batchEdit(
  app: ConversationsApp,
  caller: SignedIn,
  name: RepositoryName,
  chosen: ChosenConversations,
  edit: BatchEdit,
  { request, ...options }: BatchOptions & { readonly request: RepeatableRequest },
): Promise<readonly BatchResult[]> {
  const open = await openConversations(app, caller, name)
  const numbers = [...new Set(chosen.numbers)].sort((a, b) => a - b)
  const hasQuery = chosen.query !== ''
  if (numbers.length > MAX_CONVERSATIONS || hasQuery === numbers.length > 0)
    throw new DomainError('INVALID_FIELD', {
      field: 'numbers',
      rule: `has 1 to ${MAX_CONVERSATIONS} numbers, and none beside a query`,
    })
  const earlier = await findResult<readonly BatchResult[]>(app, app.db, caller, request)
  if (earlier) return earlier.result
  const ordered = hasQuery
    ? await numbersOfQuery(app, caller, open, chosen.query, MAX_CONVERSATIONS)
    : numbers
  const quiet = options.notifies ? app : { ...app, isQuiet: true }
  const results: BatchResult[] = []
  for (const number of ordered)
    results.push(await editOne(quiet, caller, { ...name, number }, edit, options.validatesOnly))
  if (!options.validatesOnly)
    await transaction(app.db, (tx) => storeResult(app, tx, caller, request, results))
  wakeWatchers(app)
  return results
}

async function editOne(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: BatchEdit,
  validatesOnly: boolean,
): Promise<BatchResult> {
  const { number } = name
  try {
    const { conversation } = await findNamed(app, caller, name)
    await checkRight(app, caller, name, edit)
    // A change of a pull request may wait for a merge, which no transaction may do.
    if (conversation.is_pull === 1) {
      const changed = validatesOnly || (await apply(app, caller, name, edit))
      return { number, changed }
    }
    const work = transaction(app.db, async (tx) => {
      const changed = await apply({ ...app, db: tx }, caller, name, edit)
      if (validatesOnly) throw new Validated(changed)
      return changed
    })
    return { number, changed: await work }
  } catch (error) {
    if (error instanceof Validated) return { number, changed: error.changed }
    const failure = error instanceof DomainError ? error : outsideError(error)
    if (!failure) throw error
    return { number, changed: false, reason: failure.reason }
  }
}

/** Ends a transaction that only tells what it would change. */
class Validated extends Error {
  readonly changed: boolean

  constructor(changed: boolean) {
    super('nothing is changed')
    this.changed = changed
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

/** @returns whether anything changed. */
async function apply(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: BatchEdit,
): Promise<boolean> {
  const { conversation: before } = await findNamed(app, caller, name)
  if (edit.labels) await editConversationLabels(app, caller, name, edit.labels)
  if (edit.addAssignees.length > 0) await addAssignees(app, caller, name, edit.addAssignees)
  if (edit.removeAssignees.length > 0)
    await removeAssignees(app, caller, name, edit.removeAssignees)
  await edit.editFields?.(app, caller, name)
  if (edit.lock === null) await unlockConversation(app, caller, name)
  else if (edit.lock !== undefined) await lockConversation(app, caller, name, edit.lock)
  if (edit.comment !== '')
    await createIssueComment(app, caller, name, { body: edit.comment, attachments: [] })
  const after = await findConversation(app.db, before.id)
  return after?.change_count !== before.change_count || after.lock_reason !== before.lock_reason
}
