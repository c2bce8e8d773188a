import { transaction } from '../../platform/database/database.ts'
import { readsKind } from '../conversations/conversation-readers.ts'
import { findConversationsByIds } from '../conversations/conversations.rows.ts'
import { presentCommentIds } from '../conversations/issue-comments.rows.ts'
import type { Conversation } from '../conversations/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Page, RepositoryName } from '../core/names.ts'
import {
  openRepositories,
  openRepository,
  repositoryReader,
} from '../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import {
  type RepositoryView,
  viewRepositories,
} from '../repositories/lifecycle/repository-views.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { NotificationThread } from './schema.ts'
import * as rows from './threads.rows.ts'

/** The state of a notification thread. */
export type ThreadStatus = NotificationThread['status']

/** A notification thread with the conversation that its receiver may read. */
export interface ThreadView {
  readonly thread: NotificationThread
  readonly repository: RepositoryView
  readonly conversation: Conversation
}

/** Which threads a list has. Undefined fields select all. */
export interface ThreadFilter {
  /** Undefined for the threads of all repositories. */
  readonly repository?: RepositoryName | undefined
  readonly statuses?: readonly ThreadStatus[] | undefined
  /** Types of subjects, as compatible systems name them; empty for all. */
  readonly subjectTypes: readonly string[]
  /** Unix seconds of the last update, ends included. */
  readonly since?: number | undefined
  readonly before?: number | undefined
}

/** A page of a list. */
interface ThreadPage {
  readonly threads: readonly ThreadView[]
  /** Length of the whole list. */
  readonly total: number
}

/** The maximum number of threads that the response to a change of all has. */
const MAX_SHOWN = 50

/**
 * Returns a page of the threads of the caller, the latest first. The caller may read the
 * conversations of all of them now.
 */
export async function listThreads(
  app: ReposApp,
  caller: SignedIn,
  filter: ThreadFilter,
  page: Page,
): Promise<ThreadPage> {
  const search = await searchOf(app, caller, filter)
  if (!search) return { threads: [], total: 0 }
  const found = await rows.listThreads(app.db, search, page.offset, page.limit)
  return {
    threads: await viewThreads(app, caller, found),
    total: await rows.countThreads(app.db, search),
  }
}

/** Returns the number of unread threads of the caller. */
export function countUnread(app: ReposApp, caller: SignedIn): Promise<number> {
  const reader = repositoryReader(app, caller)
  return rows.countThreads(app.db, { userId: caller.user.id, reader, statuses: ['UNREAD'] })
}

/**
 * Sets the status of all threads of a list.
 *
 * @returns the latest of them, at most 50.
 */
export async function setAllStatuses(
  app: ReposApp,
  caller: SignedIn,
  filter: ThreadFilter,
  status: ThreadStatus,
): Promise<ThreadView[]> {
  const search = await searchOf(app, caller, filter)
  if (!search) return []
  const changed = await transaction(app.db, async (tx) => {
    const found = await rows.listThreads(tx, search, 0, MAX_SHOWN)
    await rows.setThreadStatus(tx, search, status)
    return found.map((thread) => ({ ...thread, status }))
  })
  return viewThreads(app, caller, changed)
}

/** Returns a thread of the caller, who must still be allowed to read the conversation. */
export async function getThread(app: ReposApp, caller: SignedIn, id: number): Promise<ThreadView> {
  const thread = await rows.findThread(app.db, caller.user.id, id)
  const [view] = thread ? await viewThreads(app, caller, [thread]) : []
  if (!view) throw new DomainError('NOTIFICATION_THREAD_NOT_FOUND')
  return view
}

/** Sets the status of a thread of the caller. */
export async function setStatus(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  status: ThreadStatus,
): Promise<ThreadView> {
  const view = await getThread(app, caller, id)
  const thread = await transaction(app.db, async (tx) => {
    await rows.setStatusOf(tx, id, status)
    return rows.findThread(tx, caller.user.id, id)
  })
  if (!thread) throw new DomainError('NOTIFICATION_THREAD_NOT_FOUND')
  return { ...view, thread: { ...thread, comment_id: view.thread.comment_id } }
}

/** @returns undefined for a list that is always empty. */
async function searchOf(
  app: ReposApp,
  caller: SignedIn,
  { repository: name, statuses, subjectTypes, since, before }: ThreadFilter,
): Promise<rows.ThreadSearch | undefined> {
  const open = name && (await openRepository(app, caller, name, 'none'))
  const kinds = kindsOf(subjectTypes)
  // There are no notifications of other subjects.
  if (kinds?.length === 0) return undefined
  if (statuses?.length === 0) return undefined
  return {
    userId: caller.user.id,
    reader: repositoryReader(app, caller),
    repositoryId: open?.repository.id,
    statuses,
    kinds,
    since,
    before,
  }
}

/** @returns values of `is_pull`; undefined for all. */
function kindsOf(subjectTypes: readonly string[]): number[] | undefined {
  if (subjectTypes.length === 0) return undefined
  const wanted = new Set(subjectTypes)
  return [...(wanted.has('issue') ? [0] : []), ...(wanted.has('pull') ? [1] : [])]
}

/**
 * Returns the views of threads. The number of queries does not depend on the number of threads. Who
 * may read only other parts of a repository than the subject, by the rights of a team, does not see
 * the thread.
 */
async function viewThreads(
  app: ReposApp,
  caller: SignedIn,
  threads: readonly NotificationThread[],
): Promise<ThreadView[]> {
  if (threads.length === 0) return []
  const ids = [...new Set(threads.map(({ repository_id }) => repository_id))]
  const found = await findRepositoriesByIds(app.db, ids)
  const opened = await openRepositories(app, caller, [...found.values()], 'pulls')
  const units = new Map(opened.map((open) => [open.repository.id, open.units]))
  const views = await viewRepositories(app, caller, opened)
  const repositories = new Map(views.map((view) => [view.repository.id, view]))
  const conversations = await findConversationsByIds(
    app.db,
    threads.map(({ issue_id }) => issue_id),
  )
  const comments = await presentCommentIds(
    app.db,
    threads.flatMap(({ comment_id }) => comment_id ?? []),
  )
  return threads.flatMap((thread) => {
    const repository = repositories.get(thread.repository_id)
    const conversation = conversations.get(thread.issue_id)
    const rights = units.get(thread.repository_id)
    if (!repository || !conversation || !rights || !readsKind(rights, conversation)) return []
    const comment_id = comments.has(thread.comment_id ?? 0) ? thread.comment_id : null
    return [{ thread: { ...thread, comment_id }, repository, conversation }]
  })
}
