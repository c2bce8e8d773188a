import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { findActiveUsersByUsernameKeys, findUsersByIds } from '../accounts/users/users.rows.ts'
import { concernsOf, type StoredConcerns } from '../conversations/concerns.ts'
import { conversationReaders } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import * as rows from '../conversations/notices.rows.ts'
import { assigneesOf } from '../conversations/participants.rows.ts'
import type { Conversation, Notice } from '../conversations/schema.ts'
import { nameKey } from '../core/names.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../core/scheduled-work.ts'
import type { User } from '../core/schema.ts'
import { isWorkInProgress } from '../pulls/lists/pull-views.ts'
import { listReviewRequests } from '../pulls/review/reviews.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { NotificationThread } from './schema.ts'
import { mailableUsers, mailPart } from './thread-mails.ts'
import { findThreadsAbout, putThreads } from './threads.rows.ts'

/**
 * Tells users of changes of conversations. The transaction of a change stores one row, a notice,
 * however many users watch the repository. A worker finds them in batches, in the order of their
 * ids. The transaction of a batch also records how far the worker has come, so that each user is
 * told exactly once, whenever the server stops.
 */

/** The number of users in one transaction, which takes a few milliseconds. */
const BATCH = 100

const MAX_RUNNING = 2
/** The notices of a conversation are taken one after the other. */
const MAX_RUNNING_PER_CONVERSATION = 1

/** The delay after the first failure. It doubles after each further failure. */
const RETRY_MS = 5_000
/** Failures after which a notice is given up, after 40 minutes. */
const MAX_FAILURES = 9

const FAILURE = 'users could not be told of a change of a conversation'

type Reason = NotificationThread['reason']

/** The reasons, the strongest first. */
const REASONS: readonly Reason[] = [
  'MENTION',
  'REVIEW_REQUESTED',
  'ASSIGN',
  'PARTICIPATING',
  'SUBSCRIBED',
]

/** Starts the worker that tells users of changes. */
export function startFanOut(app: ReposApp): DueWorker {
  return startDueWork(app, fanOut(app))
}

/** Tells users of changes until none is due. For tests, whose clock stands still. */
export async function finishFanOut(app: ReposApp): Promise<void> {
  await finishDueWork(app, fanOut(app))
}

function fanOut(app: ReposApp): DueWork {
  return {
    failure: FAILURE,
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_CONVERSATION,
    signal: app.signals.issueNotices,
    ...rows.noticeQueue(app.db),
    run: (id, until) => tellEverybody(app, id, until),
  }
}

async function tellEverybody(app: ReposApp, id: number, until: AbortSignal): Promise<void> {
  try {
    while (!until.aborted && (await transaction(app.db, (tx) => tellBatch(app, tx, id))));
  } catch (err) {
    await transaction(app.db, async (tx) => {
      const notice = await rows.findNotice(tx, id)
      if (!notice) return
      const failures = notice.failures + 1
      const isLast = failures >= MAX_FAILURES
      app.log[isLast ? 'error' : 'warn']({ err, notice: id, failures }, FAILURE)
      if (isLast) return rows.deleteNotice(tx, id)
      const dueTime = app.clock.now() + RETRY_MS * 2 ** (failures - 1)
      return rows.postponeNotice(tx, id, failures, dueTime)
    })
  }
  app.signals.mails.notify()
}

/** @returns whether more users may have to be told. */
async function tellBatch(app: ReposApp, tx: Tx, id: number): Promise<boolean> {
  const notice = await rows.findNotice(tx, id)
  const conversation = notice && (await findConversation(tx, notice.issue_id))
  if (!conversation) return false
  const candidates = await findCandidates(app, tx, notice, conversation)
  const batch = [...candidates].sort(([one], [other]) => one - other).slice(0, BATCH)
  await tell(app, tx, { notice, conversation, reasons: new Map(batch) })
  const last = batch.length === BATCH ? batch.at(-1)?.[0] : undefined
  if (last === undefined) await rows.deleteNotice(tx, id)
  else await rows.advanceNotice(tx, id, last)
  return last !== undefined
}

/**
 * Returns the next users whom a notice concerns, with the strongest reason of each. The first
 * `BATCH` of them, by id, are complete.
 */
async function findCandidates(
  app: ReposApp,
  tx: Tx,
  notice: Notice,
  conversation: Conversation,
): Promise<Map<number, Reason>> {
  const { last_user_id: lastId } = notice
  const concerns = concernsOf(notice)
  const found = new Map<number, Reason>()
  const add = (userId: number, reason: Reason) => {
    if (userId > lastId) found.set(userId, strongest(reason, found.get(userId)))
  }
  for (const [userId, reason] of await findNamed(tx, concerns, conversation, lastId))
    add(userId, reason)
  if (!concerns.everybody) return found
  const search = {
    conversationId: conversation.id,
    repositoryId: conversation.repository_id,
    // As in compatible systems, work in progress concerns those who take part in it.
    withWatchers: conversation.is_pull === 0 || !isWorkInProgress(app, conversation.title),
  }
  for (const { user_id, takes_part } of await rows.listFollowers(tx, search, lastId, BATCH))
    add(user_id, takes_part === 1 ? 'PARTICIPATING' : 'SUBSCRIBED')
  return found
}

/** Returns users whom a change names, with the reason. */
async function findNamed(
  tx: Tx,
  concerns: StoredConcerns,
  conversation: Conversation,
  lastId: number,
): Promise<[number, Reason][]> {
  const { mentioned = [], assignees = [], reviewers = [], reviewerTeams = [] } = concerns
  const requests = concerns.namesPresent ? await listReviewRequests(tx, [conversation.id]) : []
  const assigned = concerns.namesPresent ? await assigneesOf(tx, conversation.id) : assignees
  const asked = [...reviewers, ...requests.flatMap(({ reviewer_id }) => reviewer_id ?? [])]
  const teams = [...reviewerTeams, ...requests.flatMap(({ team_id }) => team_id ?? [])]
  const members = await rows.listMemberIds(tx, teams, lastId, BATCH)
  const users = mentioned.length === 0 ? [] : await findActiveUsersByUsernameKeys(tx, mentioned)
  // A mention refers to a username. The text may also be the chosen id of another account.
  const named = users.filter(({ username }) => mentioned.includes(nameKey(username)))
  const because = (reason: Reason) => (userId: number) => [userId, reason] as [number, Reason]
  return [
    ...named.map(({ id }) => id).map(because('MENTION')),
    ...[...asked, ...members].map(because('REVIEW_REQUESTED')),
    ...assigned.map(because('ASSIGN')),
  ]
}

/** A change, and the users to tell of it. */
interface Telling {
  readonly notice: Notice
  readonly conversation: Conversation
  readonly reasons: ReadonlyMap<number, Reason>
}

async function tell(app: ReposApp, tx: Tx, telling: Telling): Promise<void> {
  const { notice, conversation, reasons } = telling
  const { told, left } = await whoIsTold(tx, telling)
  const threads = await findThreadsAbout(
    tx,
    conversation.id,
    told.map(({ id }) => id),
  )
  // A user who has unsubscribed, perhaps by the link of a mail, gets no mail.
  const staying = told.filter(({ id }) => !left.has(id))
  const mailable = await mailableUsers(app, tx, staying, reasons)
  await putThreads(
    tx,
    told.map((user) => {
      const before = threads.get(user.id)
      const reason = reasons.get(user.id) ?? 'SUBSCRIBED'
      const isRead = before === undefined || before.status === 'READ'
      return {
        user_id: user.id,
        issue_id: conversation.id,
        repository_id: conversation.repository_id,
        status: isRead ? ('UNREAD' as const) : before.status,
        reason: isRead ? reason : strongest(reason, before.reason),
        comment_id: notice.comment_id ?? before?.comment_id ?? null,
        update_time: Math.floor(notice.time / 1000),
        ...mailPart(app, notice, before, mailable.has(user.id)),
      }
    }),
  )
}

/**
 * Returns the users of a batch who are told: active ones other than the one who made the change,
 * who may read the conversation now and have not decided against it. `left` has those who have
 * left the conversation.
 */
async function whoIsTold(
  tx: Tx,
  { notice, conversation, reasons }: Telling,
): Promise<{ told: User[]; left: ReadonlySet<number> }> {
  const ids = [...reasons.keys()].filter((id) => id !== notice.actor_id)
  if (ids.length === 0) return { told: [], left: new Set() }
  const users = await findUsersByIds(tx, ids)
  const readers = await conversationReaders(tx, conversation, [...users.values()])
  const subject = { conversationId: conversation.id, repositoryId: conversation.repository_id }
  const { ignoring, left, blocking } = await rows.findDecisions(tx, subject, notice.actor_id, ids)
  const told = readers.filter(({ id }) => {
    if (ignoring.has(id) || blocking.has(id)) return false
    return !left.has(id) || isNamed(reasons.get(id))
  })
  return { told, left }
}

function isNamed(reason: Reason | undefined): boolean {
  return reason !== 'PARTICIPATING' && reason !== 'SUBSCRIBED'
}

function strongest(one: Reason, other: Reason | undefined): Reason {
  if (other === undefined) return one
  return REASONS.indexOf(one) <= REASONS.indexOf(other) ? one : other
}
