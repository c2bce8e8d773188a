import { reauthenticate } from '../accounts/credentials/reauthentication.ts'
import { readsKind } from '../conversations/conversation-readers.ts'
import { findConversationsByIds } from '../conversations/conversations.rows.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { EventPage } from '../core/event-logs.ts'
import { createEventWatches, type EventWatch, type StartTimer } from '../core/event-watches.ts'
import { openRepositories } from '../repositories/access/permissions.ts'
import { notedIssueOf } from '../repositories/activity/repository-events.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import * as rows from './concern-watches.rows.ts'
import type { ConversationLink } from './issue-views.ts'

/**
 * The changes of issues and pull requests that concern a user, in all repositories. They come from the
 * events of the repositories; nothing is stored for them.
 */

/** The maximum number of these streams of an account: a dozen browser tabs and some programs. */
const MAX_STREAMS = 16

/** Events that one read looks through, since few of the events of an instance concern one user. */
const WINDOW = 5_000

/** Conversations that one read returns. */
const MAX_CHANGES = 50

/** A changed conversation that the reader may read now. `id` is that of its latest event. */
export interface ConcerningChange extends ConversationLink {
  readonly id: number
  /** The issue is deleted. The reader may read issues of its former repository. */
  readonly isDeleted: boolean
}

/** The watches of all accounts. */
export interface ConcernWatches {
  /** Opens a watch, which closes when `until` aborts. */
  open(userId: number, until: AbortSignal): Promise<EventWatch>
}

/** Creates the watches of all accounts. A commit wakes only those whom its events concern. */
export function createConcernWatches(
  app: ConversationsApp,
  startTimer?: StartTimer,
): ConcernWatches {
  const source = {
    signal: app.signals.repositoryEvents,
    findNewest: () => rows.findNewestEvent(app.db),
    findSubjects: async (after: number) =>
      (await rows.findConcernedUsers(app.db, after)).map(({ user_id, newest }) => ({
        subjectId: user_id,
        newest,
      })),
  }
  const watches = createEventWatches(app, source, startTimer)
  return {
    open: (userId, until) =>
      watches.open(userId, { key: userId, limit: MAX_STREAMS, scope: 'account' }, until),
  }
}

/**
 * Returns the position where a stream starts: where the previous one ended, or now.
 *
 * @throws CURSOR_EXPIRED if events after the position have been deleted
 */
export async function startOfConcerns(
  { db }: ConversationsApp,
  position: number | undefined,
): Promise<number> {
  const { newest, floor } = await rows.findEventRange(db)
  if (position === undefined) return newest
  // A position beyond the newest event was issued before the database was restored from a backup.
  if (position < floor || position > newest) throw new DomainError('CURSOR_EXPIRED')
  return position
}

/**
 * Returns the conversations that concern a user, that have changed after a position, and that the
 * user may read now.
 *
 * @throws BAD_CREDENTIALS
 */
export async function readConcerns(
  app: ConversationsApp,
  opened: SignedIn,
  position: number,
): Promise<EventPage<ConcerningChange>> {
  const caller = await reauthenticate(app, opened)
  // A deleted repository takes its events with it, which may have been the newest ones.
  const newest = Math.max(position, await rows.findNewestEvent(app.db))
  const until = Math.min(newest, position + WINDOW)
  const range = { after: position, until }
  const found = await rows.listConcerningEvents(app.db, caller.user.id, range, MAX_CHANGES)
  const isCut = found.length === MAX_CHANGES
  return {
    events: await readable(app, caller, found),
    next: isCut ? (found.at(-1)?.id ?? until) : until,
    more: isCut || until < newest,
  }
}

/** Returns those changes whose conversation the caller may read, with a constant number of queries. */
async function readable(
  app: ConversationsApp,
  caller: SignedIn,
  found: readonly { readonly id: number; readonly issue_id: number }[],
): Promise<ConcerningChange[]> {
  if (found.length === 0) return []
  const conversations = await findConversationsByIds(
    app.db,
    found.map(({ issue_id }) => issue_id),
  )
  const gone = found.filter(({ issue_id }) => !conversations.has(issue_id))
  const deletions = new Map(
    (
      await rows.deletionsAmong(
        app.db,
        gone.map(({ id }) => id),
      )
    ).map((event) => [event.id, event]),
  )
  const places = [...conversations.values(), ...deletions.values()]
  const ids = new Set(places.map(({ repository_id }) => repository_id))
  const repositories = await findRepositoriesByIds(app.db, [...ids])
  const opened = await openRepositories(app, caller, [...repositories.values()], 'issues')
  const openOf = new Map(opened.map((open) => [open.repository.id, open]))
  return found.flatMap(({ id, issue_id }) => {
    const deletion = deletions.get(id)
    const conversation = conversations.get(issue_id) ?? (deletion && issueOf(deletion))
    const open = conversation && openOf.get(conversation.repository_id)
    if (!conversation || !open || !readsKind(open.units, conversation)) return []
    return [{ id, number: conversation.number, open, isDeleted: deletion !== undefined }]
  })
}

function issueOf(deletion: { readonly repository_id: number; readonly subject: string }) {
  const { number } = notedIssueOf(deletion)
  return { number, repository_id: deletion.repository_id, is_pull: 0 }
}
