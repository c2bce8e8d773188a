import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName, Page } from '../core/names.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import { findConversation } from './conversations.rows.ts'
import * as rows from './dependencies.rows.ts'
import type { ConversationRight, ConversationsApp, OpenConversation } from './ports.ts'
import type { Conversation } from './schema.ts'
import { recordTimeline } from './timeline.ts'

/**
 * Dependencies of conversations on others, also of other repositories. A conversation with an open
 * dependency can be neither closed manually nor merged.
 */

/** Maximum number of dependencies of a conversation. */
export const MAX_DEPENDENCIES = 100

/**
 * A dependency in the form in which a client names it. Without owner and repository it is in the
 * same repository.
 */
export interface DependencyReference {
  readonly owner: string
  readonly repo: string
  readonly number: number
}

/**
 * Returns the ids of the dependencies of a conversation: those of its repository first, the latest
 * first.
 */
export async function listDependencies(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  page: Page,
): Promise<{ readonly ids: readonly number[]; readonly total: number }> {
  const { conversation } = await openWaiting(app, caller, name, 'read')
  return {
    ids: await rows.listDependencyIds(app.db, conversation, page.offset, page.limit),
    total: await rows.countDependencies(app.db, conversation.id),
  }
}

/**
 * Returns the ids of the conversations that wait for a conversation: those of its repository first,
 * by number.
 */
export async function listBlocks(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  page: Page,
): Promise<{ readonly ids: readonly number[]; readonly total: number }> {
  const { conversation } = await openWaiting(app, caller, name, 'read')
  return {
    ids: await rows.listDependentIds(app.db, conversation, page.offset, page.limit),
    total: await rows.countDependents(app.db, conversation.id),
  }
}

/**
 * Makes a conversation depend on another one. Has no effect if it does already.
 *
 * @returns the dependent conversation, as it was opened.
 */
export async function addDependency(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
): Promise<OpenConversation> {
  return change(app, caller, name, reference, 'add_dependency', async (tx, { id }, other) => {
    if (await rows.waitsFor(tx, other.id, id)) throw new DomainError('INVALID_DEPENDENCY')
    if (await rows.dependsOn(tx, id, other.id)) return false
    if ((await rows.countDependencies(tx, id)) >= MAX_DEPENDENCIES)
      throw new DomainError('INVALID_DEPENDENCY', { limit: String(MAX_DEPENDENCIES) })
    await rows.insertDependency(tx, id, other.id)
    return true
  })
}

/**
 * Removes a dependency of a conversation.
 *
 * @returns the conversation that was dependent, as it was opened.
 */
export async function removeDependency(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
): Promise<OpenConversation> {
  return change(app, caller, name, reference, 'remove_dependency', async (tx, { id }, other) => {
    if (!(await rows.dependsOn(tx, id, other.id))) throw new DomainError('ISSUE_NOT_FOUND')
    await rows.deleteDependency(tx, id, other.id)
    return true
  })
}

/** @throws as `Conversations.open`; DEPENDENCIES_DISABLED */
async function openWaiting(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  needed: ConversationRight,
): Promise<OpenConversation> {
  const open = await app.conversations.open(app, caller, name, needed)
  if (open.repository.has_dependencies === 0) throw new DomainError('DEPENDENCIES_DISABLED')
  return open
}

/**
 * Changes dependencies. The timelines of both conversations say so.
 *
 * @param work returns whether it changed anything.
 */
async function change(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
  type: 'add_dependency' | 'remove_dependency',
  work: (tx: Tx, conversation: Conversation, other: Conversation) => Promise<boolean>,
): Promise<OpenConversation> {
  const open = await openWaiting(app, caller, name, 'write')
  const otherId = await findOther(app, caller, open, reference)
  await changeWatched(app, async (tx) => {
    const { conversation, record } = await open.beginChange(tx)
    const other = await findConversation(tx, otherId)
    if (!other) throw new DomainError('ISSUE_NOT_FOUND')
    if (!(await work(tx, conversation, other))) return
    await record(caller.user.id, { type: 'dependencies' })
    const tell = (id: number, sourceId: number) =>
      recordTimeline(app, tx, caller.user.id, id, { type, sourceId })
    await tell(conversation.id, other.id)
    await tell(other.id, conversation.id)
  })
  return open
}

/**
 * Returns the id of the dependency, which the caller must be able to read.
 */
async function findOther(
  app: ConversationsApp,
  caller: SignedIn,
  { repository, owner }: OpenConversation,
  reference: DependencyReference,
): Promise<number> {
  const name = {
    owner: reference.owner || owner.name,
    repo: reference.repo || repository.name,
    number: reference.number,
  }
  try {
    return (await app.conversations.open(app, caller, name, 'read')).conversation.id
  } catch (error) {
    const isHidden =
      error instanceof DomainError && /^(REPOSITORY_|ISSUE_TRANSFERRED$)/.test(error.reason)
    throw isHidden ? new DomainError('ISSUE_NOT_FOUND') : error
  }
}

/**
 * Checks that a conversation to merge has no open dependency.
 *
 * @param except ids of dependencies that merge before.
 */
export async function checkMergeNotBlocked(
  db: Db,
  { id }: Conversation,
  except: readonly number[] = [],
): Promise<void> {
  if (await rows.isBlocked(db, id, except)) throw new DomainError('MERGE_BLOCKED')
}

/**
 * Checks that a conversation to close has no open dependency.
 */
export async function checkCloseNotBlocked(db: Db, { id }: Conversation): Promise<void> {
  if (await rows.isBlocked(db, id)) throw new DomainError('CLOSE_BLOCKED')
}
