import { findOwnersByIds } from '../../../storage/accounts/owners.ts'
import { isForeignKeyViolation, transaction } from '../../../storage/database/database.ts'
import { wakeAutoMerges } from '../../../storage/pulls/auto-merges.ts'
import * as rows from '../../../storage/repos/repository-events.ts'
import type { Owner } from '../../../storage/schema/accounts.ts'
import type { Release, RepositoryEvent } from '../../../storage/schema/repos.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import {
  type EventLogRows,
  type EventPage,
  PAGE_SIZE,
  pageOfEvents,
  pruneSometimes,
  startOfEvents,
} from '../../core/event-logs.ts'
import { suffices } from '../../core/levels.ts'
import type { OpenRepository } from '../access/permissions.ts'
import { seesDrafts } from '../access/release-access.ts'
import type { MovedRef, ReposApp } from '../ports.ts'

/**
 * Events of repositories, for those who watch: rows that are written in the transaction of the
 * change that they tell of. What a watcher may know of is decided when it is read.
 */

/** Kinds of events of a repository. */
export type RepositoryEventType = RepositoryEvent['type']

/** Those that are about pull requests. */
export type PullEventType = Extract<RepositoryEventType, `PULL_REQUEST_${string}`>

/** Events kept for a repository, save for those that a forgetting still to come will take. */
export const MAX_REPOSITORY_EVENTS = 5_000

/**
 * What the refs listed in one event take. All events of a repository together take 40 MiB then, if
 * somebody tries.
 */
const MAX_REFS_BYTES = 8 * 1024

const ROWS: EventLogRows<Pick<RepositoryEvent, 'id' | 'repository_id' | 'time'>> = {
  maxEvents: MAX_REPOSITORY_EVENTS,
  count: async (db, repositoryId) => (await rows.findRepositoryEventLog(db, repositoryId)).count,
  listOldest: rows.listOldestRepositoryEvents,
  delete: rows.deleteRepositoryEvents,
}

/** An event, with who did it as far as there is somebody. */
export interface WatchedEvent extends RepositoryEvent {
  readonly actor: Owner | undefined
}

/** The refs that an event is about, as far as it lists them. */
export interface MovedRefs {
  readonly refs: readonly Omit<MovedRef, 'pusherId'>[]
  readonly count: number
}

/**
 * Wakes those who wait for what a commit left behind: those who watch, webhooks, merges that are to
 * be, and what follows from them.
 */
export function wakeWatchers({ signals }: ReposApp): void {
  signals.repositoryEvents.notify()
  signals.deliveries.notify()
  signals.autoMerges.notify()
  signals.mergeFollowUps.notify()
}

/**
 * Makes a change together with its events, and wakes those who wait for such once it is committed.
 */
export async function changeWatched<T>(app: ReposApp, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await transaction(app.db, work)
  wakeWatchers(app)
  return result
}

type NewEvent = Pick<RepositoryEvent, 'repository_id' | 'type' | 'audience'> &
  Partial<Pick<RepositoryEvent, 'actor_id' | 'subject_id' | 'subject'>>

/**
 * Records an event in the transaction of the change that it tells of. Those who watch are woken by
 * `changeWatched`.
 *
 * @throws REPOSITORY_NOT_FOUND when it was deleted meanwhile.
 */
export async function recordEvent(app: ReposApp, tx: Tx, event: NewEvent): Promise<void> {
  const row = { actor_id: null, subject_id: null, subject: '', ...event, time: app.clock.now() }
  const stored = await rows.insertRepositoryEvent(tx, row).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? new DomainError('REPOSITORY_NOT_FOUND') : error
  })
  pruneSometimes(app, ROWS, event.repository_id, stored)
}

/**
 * Records that refs moved: one event for each of those who moved them, which lists no more of them
 * than is reasonable.
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

/** The refs that an event of them is about. */
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
 * Records what somebody did to a release.
 *
 * @param before undefined for one that is new.
 * @param after undefined for one that is gone.
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
  // Who cannot see drafts is not told of what was none of their business before and is none after.
  const wasPublished = before?.draft === 0
  const isPublished = after?.draft === 0
  await recordEvent(app, tx, {
    repository_id: release.repository_id,
    type: releaseEventType(before, after),
    audience: wasPublished || isPublished ? 'releases' : 'drafts',
    actor_id: idOf(caller),
    subject_id: release.id,
    subject: release.tag_name,
  })
}

function releaseEventType(
  before: Release | undefined,
  after: Release | undefined,
): RepositoryEventType {
  if (!after) return 'RELEASE_DELETED'
  if (after.draft === 0 && before?.draft !== 0) return 'RELEASE_PUBLISHED'
  return before ? 'RELEASE_EDITED' : 'RELEASE_DRAFTED'
}

/** A change of a protection rule. */
export interface ProtectionChange {
  readonly repositoryId: number
  readonly type: Extract<RepositoryEventType, `${string}_PROTECTION_${string}`>
  readonly rule: { readonly id: number; readonly name: string }
}

/**
 * Records what became of a rule about branches or tags.
 *
 * @param caller undefined when it followed from something else.
 * @param rule its number, and its name or pattern.
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

/** Records that rules about branches were put into another order. */
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
 * Records that a repository is not what it was, for which merges may have waited.
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
  await wakeAutoMerges(tx, app.clock.now(), repositoryId)
}

/** What an event says of its pull request. */
export function notedPullOf({ subject }: Pick<RepositoryEvent, 'subject'>): {
  number: number
  base: string
  head: string
} {
  const [number, base, head] = JSON.parse(subject) as [number, string, string]
  return { number, base, head }
}

function idOf(caller: Caller | undefined): number | null {
  return caller?.kind === 'user' ? caller.user.id : null
}

/**
 * Where a stream of the events of a repository begins: behind the events up to a position, the id
 * of an event.
 *
 * @param position where the last stream ended; undefined for what happens from now on.
 * @throws CURSOR_EXPIRED
 */
export async function startOfRepositoryEvents(
  app: ReposApp,
  repositoryId: number,
  position: number | undefined,
): Promise<number> {
  return startOfEvents(position, await rows.findRepositoryEventLog(app.db, repositoryId))
}

/**
 * The events of a repository behind a position that a caller may know of.
 *
 * @param open the repository as the caller may read it now.
 * @param types only these; undefined for all.
 * @throws CURSOR_EXPIRED when events behind the position have been forgotten.
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
  const actors = await findOwnersByIds(app.db, [
    ...new Set(events.flatMap(({ actor_id }) => actor_id ?? [])),
  ])
  const actorOf = ({ actor_id }: RepositoryEvent) =>
    actor_id === null ? undefined : actors.get(actor_id)
  return pageOfEvents(
    position,
    log,
    events.map((event) => ({ ...event, actor: actorOf(event) })),
  )
}

function audiencesOf(caller: Caller, open: OpenRepository): RepositoryEvent['audience'][] {
  const audiences: RepositoryEvent['audience'][] = ['any']
  if (suffices(open.units.code, 'read')) audiences.push('code')
  if (suffices(open.units.releases, 'read')) audiences.push('releases')
  if (seesDrafts(caller, open)) audiences.push('drafts')
  if (suffices(open.units.pulls, 'read') && suffices(open.units.code, 'read'))
    audiences.push('pulls')
  if (suffices(open.units.code, 'admin')) audiences.push('administration')
  return audiences
}
