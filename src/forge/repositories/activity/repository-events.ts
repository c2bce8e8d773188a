import { isForeignKeyViolation, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { networkOf } from '../../accounts/credentials/guess-limits.ts'
import { reauthenticate } from '../../accounts/credentials/reauthentication.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { type Caller, holdsScope } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import {
  type EventLogRows,
  type EventPage,
  PAGE_SIZE,
  pageOfEvents,
  pruneSometimes,
  startOfEvents,
} from '../../core/event-logs.ts'
import {
  createEventWatches,
  type EventWatch,
  type StartTimer,
  type StreamHolder,
} from '../../core/event-watches.ts'
import { suffices } from '../../core/levels.ts'
import { wakeScheduledMerges } from '../../pulls/merging/scheduled-merges.rows.ts'
import { type HookFacts, queueHookEvents } from '../../webhooks/outbox/webhook-queue.ts'
import { type OpenRepository, openRepositoryById, seesDrafts } from '../access/permissions.ts'
import type { MovedRef, ReposApp } from '../ports.ts'
import type { Release } from '../releases/schema.ts'
import type { CommitStatus, RepositoryEvent } from '../schema.ts'
import * as rows from './repository-events.rows.ts'
import {
  findNewestRepositoryEventId,
  findRepositoriesWithEvents,
} from './repository-events.rows.ts'

/**
 * Repository events are rows that are written in the transaction of the change that they describe.
 * Access is checked when a watcher reads them.
 */

/** The types of repository events. */
export type RepositoryEventType = RepositoryEvent['type']

/** The types of events about pull requests. */
export type PullEventType = Extract<RepositoryEventType, `PULL_REQUEST_${string}`>

/** The types of events about issues. */
export type IssueEventType = Extract<RepositoryEventType, `ISSUE_${string}`>

/** The number of events that a repository keeps. Events above it are pruned with some delay. */
export const MAX_REPOSITORY_EVENTS = 5_000

/** The size of the refs listed in one event. It limits the events of one repository to 40 MiB. */
const MAX_REFS_BYTES = 8 * 1024

const ROWS: EventLogRows<Pick<RepositoryEvent, 'id' | 'repository_id' | 'time'>> = {
  maxEvents: MAX_REPOSITORY_EVENTS,
  count: async (db, repositoryId) => (await rows.findRepositoryEventLog(db, repositoryId)).count,
  listOldest: rows.listOldestRepositoryEvents,
  delete: rows.deleteRepositoryEvents,
}

/** An event, with the account that caused it. */
export interface WatchedEvent extends RepositoryEvent {
  readonly actor: Owner | undefined
}

/** The refs that an event lists. `count` is the number of refs that moved, listed or not. */
interface MovedRefs {
  readonly refs: readonly Omit<MovedRef, 'pusherId'>[]
  readonly count: number
}

/**
 * Wakes watchers, webhooks, notifications, scheduled merges and the work that follows merges after
 * a commit.
 */
export function wakeWatchers({ signals }: ReposApp): void {
  signals.repositoryEvents.notify()
  signals.deliveries.notify()
  signals.scheduledMerges.notify()
  signals.mergeFollowUps.notify()
  signals.referenceWork.notify()
  signals.issueNotices.notify()
}

/** Runs a transaction that records events, and wakes watchers after its commit. */
export async function changeWatched<T>(app: ReposApp, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await transaction(app.db, work)
  wakeWatchers(app)
  return result
}

type NewEvent = Pick<RepositoryEvent, 'repository_id' | 'type' | 'audience'> &
  Partial<Pick<RepositoryEvent, 'actor_id' | 'subject_id' | 'subject'>>

/**
 * Records an event in the transaction of the change that it describes. `changeWatched` wakes the
 * watchers.
 */
export async function recordEvent(app: ReposApp, tx: Tx, event: NewEvent): Promise<void> {
  const row = { actor_id: null, subject_id: null, subject: '', ...event, time: app.clock.now() }
  const stored = await rows.insertRepositoryEvent(tx, row).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? new DomainError('REPOSITORY_NOT_FOUND') : error
  })
  pruneSometimes({ app, tx }, ROWS, event.repository_id, stored)
}

/**
 * Records that refs moved, with one event for each pusher. An event lists refs up to
 * `MAX_REFS_BYTES`.
 */
export async function recordMovedRefs(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  moved: readonly MovedRef[],
): Promise<void> {
  const pushers = new Map<number | undefined, MovedRef[]>()
  for (const ref of moved) {
    const refs = pushers.get(ref.pusherId)
    if (refs) refs.push(ref)
    else pushers.set(ref.pusherId, [ref])
  }
  for (const [pusherId, refs] of pushers) {
    const subject = JSON.stringify({ count: refs.length, refs: listed(refs) })
    const type = 'REFS_UPDATED'
    await recordEvent(app, tx, {
      repository_id: repositoryId,
      type,
      audience: 'code',
      actor_id: pusherId ?? null,
      subject,
    })
  }
}

type ListedRef = readonly [ref: string, oldId: string, newId: string]

function listed(refs: readonly MovedRef[]): ListedRef[] {
  const list: ListedRef[] = []
  let bytes = 0
  for (const { ref, oldId = '', newId = '' } of refs) {
    bytes += Buffer.byteLength(ref) + oldId.length + newId.length
    if (bytes > MAX_REFS_BYTES) break
    list.push([ref, oldId, newId])
  }
  return list
}

/** Returns the refs that an event of type REFS_UPDATED lists. */
export function movedRefsOf({ subject }: Pick<RepositoryEvent, 'subject'>): MovedRefs {
  const { count, refs } = JSON.parse(subject) as { count: number; refs: ListedRef[] }
  return {
    count,
    refs: refs.map(([ref, oldId, newId]) => ({
      ref,
      oldId: oldId || undefined,
      newId: newId || undefined,
    })),
  }
}

/**
 * Records a change of a release.
 *
 * @param before undefined for a new release.
 * @param after undefined for a deleted release.
 */
export async function recordReleaseChange(
  app: ReposApp,
  tx: Tx,
  caller: Caller,
  before: Release | undefined,
  after: Release | undefined,
): Promise<void> {
  const release = after ?? before
  if (!release) return
  // Callers who cannot see drafts do not receive events of a release that remains a draft.
  const wasPublished = before?.draft === 0
  const isPublished = after?.draft === 0
  const type = releaseEventType(before, after)
  await recordEvent(app, tx, {
    repository_id: release.repository_id,
    type,
    audience: wasPublished || isPublished ? 'releases' : 'drafts',
    actor_id: idOf(caller),
    subject_id: release.id,
    subject: release.tag_name,
  })
  if (!wasPublished && !isPublished) return
  const facts: ReleaseFacts = {
    repository: release.repository_id,
    actor: idOf(caller),
    release: release.id,
    tag: release.tag_name,
    action: RELEASE_ACTIONS[type] ?? 'updated',
  }
  const eventsOf = () => [{ type: 'release', facts } as const]
  await queueHookEvents(tx, release.repository_id, eventsOf, app.clock.now())
}

/** The facts of an event of a release for webhooks. */
export interface ReleaseFacts extends HookFacts {
  readonly release: number
  readonly tag: string
  readonly action: string
}

/** The actions of compatible systems. */
const RELEASE_ACTIONS: Readonly<Partial<Record<RepositoryEventType, string>>> = {
  RELEASE_PUBLISHED: 'published',
  RELEASE_DELETED: 'deleted',
}

function releaseEventType(
  before: Release | undefined,
  after: Release | undefined,
): RepositoryEventType {
  if (!after) return 'RELEASE_DELETED'
  if (after.draft === 0 && before?.draft !== 0) return 'RELEASE_PUBLISHED'
  return before ? 'RELEASE_EDITED' : 'RELEASE_DRAFTED'
}

/** A change of a branch or tag protection. */
interface ProtectionChange {
  readonly repositoryId: number
  readonly type: Extract<RepositoryEventType, `${string}_PROTECTION_${string}`>
  readonly rule: { readonly id: number; readonly name: string }
}

/**
 * Records a change of a branch or tag protection.
 *
 * @param caller undefined if no user asked for the change.
 */
export async function recordProtectionChange(
  app: ReposApp,
  tx: Tx,
  caller: Caller | undefined,
  { repositoryId, type, rule }: ProtectionChange,
): Promise<void> {
  const [actor_id, audience] = [idOf(caller), 'administration' as const]
  await recordEvent(app, tx, {
    repository_id: repositoryId,
    type,
    audience,
    actor_id,
    subject_id: rule.id,
    subject: rule.name,
  })
}

/** Records that the branch protections of a repository were reordered. */
export async function recordProtectionOrder(
  app: ReposApp,
  tx: Tx,
  caller: Caller,
  repositoryId: number,
): Promise<void> {
  const type = 'BRANCH_PROTECTIONS_REORDERED'
  await recordEvent(app, tx, {
    repository_id: repositoryId,
    type,
    audience: 'administration',
    actor_id: idOf(caller),
  })
}

/**
 * Records a change of a repository, and wakes its scheduled merges.
 *
 * @param caller undefined for the server.
 */
export async function recordRepositoryChange(
  app: ReposApp,
  tx: Tx,
  caller: Caller | undefined,
  repositoryId: number,
  type: Extract<RepositoryEventType, `REPOSITORY_${string}`>,
): Promise<void> {
  await recordEvent(app, tx, {
    repository_id: repositoryId,
    type,
    audience: 'any',
    actor_id: idOf(caller),
  })
  await wakeScheduledMerges(tx, app.clock.now(), repositoryId)
}

/** The status of a commit that an event is about. */
type NotedStatus = Pick<CommitStatus, 'commit_id' | 'number' | 'context' | 'state'>

/** Records that a status of a commit was created. */
export async function recordCommitStatus(
  app: ReposApp,
  tx: Tx,
  status: CommitStatus,
): Promise<void> {
  const { repository_id, creator_id, commit_id, number, context, state } = status
  await recordEvent(app, tx, {
    repository_id,
    type: 'COMMIT_STATUS_CREATED',
    audience: 'code',
    actor_id: creator_id,
    subject: JSON.stringify([commit_id, number, context, state]),
  })
}

/** The status in an event. */
export function notedStatusOf({ subject }: Pick<RepositoryEvent, 'subject'>): NotedStatus {
  const [commit_id, number, context, state] = JSON.parse(subject) as [
    string,
    number,
    string,
    CommitStatus['state'],
  ]
  return { commit_id, number, context, state }
}

/** A pull request as events name it. */
interface NotedPull {
  readonly number: number
  readonly base_branch: string
  readonly head_commit: string
}

/** Returns the subject of an event of a pull request. */
export function pullSubject(
  { number, base_branch, head_commit }: NotedPull,
  comment?: NotedComment,
): string {
  const about = comment ? [comment.commentId, comment.change] : []
  return JSON.stringify([number, base_branch, head_commit, ...about])
}

/** What happened to a comment, or to the reactions to a comment or to the conversation itself. */
export interface NotedComment {
  /** 0 for the conversation itself. */
  readonly commentId: number
  readonly change: 'created' | 'edited' | 'deleted' | 'reactions'
}

/** The comment or the reactions that an event of a conversation is about; undefined for neither. */
export function notedCommentOf({
  type,
  subject,
}: Pick<RepositoryEvent, 'type' | 'subject'>): NotedComment | undefined {
  if (type.startsWith('MERGE_QUEUE_')) return undefined
  const values = JSON.parse(subject) as unknown[]
  const [commentId, change] = values.slice(type.startsWith('ISSUE_') ? 1 : 3) as [
    number?,
    (NotedComment['change'] | null)?,
  ]
  // The deletion of an issue is about no comment. Events of older programs say only which comment.
  const isOld = type === 'ISSUE_COMMENTED' && change === undefined
  if (commentId === undefined || change === null || (change === undefined && !isOld))
    return undefined
  return { commentId, change: change ?? 'created' }
}

/** The pull request in an event. */
export function notedPullOf({ subject }: Pick<RepositoryEvent, 'subject'>): {
  number: number
  base: string
  head: string
} {
  const [number, base, head] = JSON.parse(subject) as [number, string, string]
  return { number, base, head }
}

/** The entry or the group of a merge queue in an event. */
export interface NotedQueue {
  readonly base: string
  /** The number of the pull request; 0 for a group. */
  readonly number: number
  readonly state: string
  readonly reason: string
  /** The number of the group; 0 for an entry. */
  readonly group: number
  readonly ref: string
  readonly candidate: string
}

/** Returns the entry or the group of a merge queue in an event. */
export function notedQueueOf({ subject }: Pick<RepositoryEvent, 'subject'>): NotedQueue {
  return JSON.parse(subject) as NotedQueue
}

/** Returns the subject of an event of an issue. */
export function issueSubject(number: number, comment?: NotedComment): string {
  return JSON.stringify([number, ...(comment ? [comment.commentId, comment.change] : [0])])
}

/**
 * Returns the subject of the deletion of an issue.
 *
 * @param concerned the users whom the issue concerned.
 */
export function deletionSubject(number: number, concerned: readonly number[]): string {
  return JSON.stringify([number, 0, null, concerned])
}

/** The conversation of an event. */
interface EventConversation {
  readonly id: number
  readonly repository_id: number
  /** 0 for an issue, 1 for a pull request. */
  readonly is_pull: number
  readonly number: number
}

/**
 * Records that the reactions to a comment, or to the conversation itself, have changed. Only those
 * who watch the conversation are told.
 */
export async function recordReactions(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  { id, repository_id, is_pull, number }: EventConversation,
  commentId: number | null,
): Promise<void> {
  const comment = { commentId: commentId ?? 0, change: 'reactions' } as const
  const pull = { number, base_branch: '', head_commit: '' }
  await recordEvent(app, tx, {
    repository_id,
    type: is_pull === 1 ? 'PULL_REQUEST_EDITED' : 'ISSUE_EDITED',
    audience: 'reactions',
    actor_id: actorId,
    subject_id: id,
    subject: is_pull === 1 ? pullSubject(pull, comment) : issueSubject(number, comment),
  })
}

/** Returns the events about a conversation after a position. The caller has checked the rights. */
export async function readConversationEvents(
  { db }: ReposApp,
  { id, repositoryId }: { readonly id: number; readonly repositoryId: number },
  position: number,
): Promise<EventPage<RepositoryEvent>> {
  const filter = {
    types: undefined,
    audiences: ['issues', 'pulls', 'reactions'] as const,
    subjectId: id,
  }
  const { log, events } = await rows.listRepositoryEvents(
    db,
    repositoryId,
    position,
    filter,
    PAGE_SIZE,
  )
  return pageOfEvents(position, log, events)
}

/** The issue in an event. `commentId` is 0 for changes without a comment. */
export function notedIssueOf({ subject }: Pick<RepositoryEvent, 'subject'>): {
  number: number
  commentId: number
} {
  const [number, commentId] = JSON.parse(subject) as [number, number]
  return { number, commentId }
}

function idOf(caller: Caller | undefined): number | null {
  return caller?.kind === 'user' ? caller.user.id : null
}

/**
 * Returns the event id after which a stream of repository events starts.
 *
 * @param position the event id at which the previous stream ended; undefined to start with the next
 *   event.
 */
export async function startOfRepositoryEvents(
  app: ReposApp,
  repositoryId: number,
  position: number | undefined,
): Promise<number> {
  return startOfEvents(position, await rows.findRepositoryEventLog(app.db, repositoryId))
}

/**
 * Returns the events of a repository after a position that a caller may see.
 *
 * @param open the repository with the caller's present access.
 * @param types the types to return; undefined for all.
 */
export async function readRepositoryEvents(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  position: number,
  types: readonly RepositoryEventType[] | undefined,
): Promise<EventPage<WatchedEvent>> {
  const filter = { types, audiences: audiencesOf(caller, open) }
  const { log, events } = await rows.listRepositoryEvents(
    app.db,
    open.repository.id,
    position,
    filter,
    PAGE_SIZE,
  )
  return pageOfEvents(position, log, await withActors(app, events))
}

/**
 * Returns the newest events of some types that a caller may see, latest first.
 *
 * @param open the repository with the caller's present access.
 */
export async function readNewestRepositoryEvents(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  types: readonly RepositoryEventType[],
  limit: number,
): Promise<WatchedEvent[]> {
  const audiences = audiencesOf(caller, open)
  const { id } = open.repository
  return withActors(app, await rows.listNewestRepositoryEvents(app.db, id, types, audiences, limit))
}

async function withActors(
  app: ReposApp,
  events: readonly RepositoryEvent[],
): Promise<WatchedEvent[]> {
  const actors = await findOwnersByIds(app.db, [
    ...new Set(events.flatMap(({ actor_id }) => actor_id ?? [])),
  ])
  return events.map((event) => ({
    ...event,
    actor: event.actor_id === null ? undefined : actors.get(event.actor_id),
  }))
}

function audiencesOf(caller: Caller, open: OpenRepository): RepositoryEvent['audience'][] {
  const audiences: RepositoryEvent['audience'][] = ['any']
  if (suffices(open.units.code, 'read')) audiences.push('code')
  if (suffices(open.units.releases, 'read')) audiences.push('releases')
  if (seesDrafts(caller, open)) audiences.push('drafts')
  if (suffices(open.units.pulls, 'read') && suffices(open.units.code, 'read'))
    audiences.push('pulls')
  if (suffices(open.units.issues, 'read') && readsIssueScope(caller)) audiences.push('issues')
  if (suffices(open.units.code, 'admin')) audiences.push('administration')
  return audiences
}

/** A token that watches a repository may lack the scope for its issues. */
function readsIssueScope(caller: Caller): boolean {
  return caller.kind !== 'user' || holdsScope(caller, 'read:issue')
}

/** The number of repository streams that an account may have open. */
const MAX_REPOSITORY_STREAMS = 64

/** The same limit for an anonymous peer. Behind a proxy, all anonymous callers share it. */
export const MAX_STREAMS_PER_PEER = 8

/** Opens watches of repository events. */
interface RepositoryWatches {
  /**
   * Opens a watch, which closes when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(caller: Caller, repositoryId: number, until: AbortSignal): Promise<EventWatch>
}

/** Creates a registry of repository watches. */
export function createRepositoryWatches(app: ReposApp, startTimer?: StartTimer): RepositoryWatches {
  const watches = createEventWatches(
    app,
    {
      signal: app.signals.repositoryEvents,
      findNewest: () => findNewestRepositoryEventId(app.db),
      findSubjects: async (after) =>
        (await findRepositoriesWithEvents(app.db, after)).map(({ repository_id, newest }) => ({
          subjectId: repository_id,
          newest,
        })),
    },
    startTimer,
  )
  return {
    open: (caller, repositoryId, until) => watches.open(repositoryId, holderOf(caller), until),
  }
}

function holderOf(caller: Caller): StreamHolder {
  return caller.kind === 'user'
    ? { key: caller.user.id, limit: MAX_REPOSITORY_STREAMS, scope: 'account' }
    : { key: networkOf(caller.peer.address), limit: MAX_STREAMS_PER_PEER, scope: 'peer' }
}

/**
 * Returns the caller and the repository of an open stream with their present access.
 *
 * @throws BAD_CREDENTIALS, REPOSITORY_NOT_FOUND
 */
export async function reopenWatched(
  app: ReposApp,
  opened: Caller,
  repositoryId: number,
): Promise<{ caller: Caller; open: OpenRepository }> {
  const caller = opened.kind === 'user' ? await reauthenticate(app, opened) : opened
  return { caller, open: await openRepositoryById(app, caller, repositoryId, 'none') }
}
