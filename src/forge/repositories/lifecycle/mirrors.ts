import { transaction } from '../../../platform/database/database.ts'
import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import {
  compareImportRefs,
  compareRefs,
  draftSync,
  measureDraft,
  releaseObjects,
} from '../../../platform/git/packs/mirrors.ts'
import { setDefaultBranch } from '../../../platform/git/refs/refs.ts'
import { discardDraft } from '../../../platform/git/repositories/repositories.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import { checkNotArchived, openRepository } from '../access/permissions.ts'
import { fetchLfsObjects } from '../lfs/lfs-sources.ts'
import type { ReposApp, Reservation } from '../ports.ts'
import { quotaOfRepository, reservationOf, transferBytes } from '../quotas/quota-checks.ts'
import { applyUpdates, moveRefs } from '../refs/ref-updates.ts'
import type { Mirror, MirrorChanges } from '../schema.ts'
import * as rows from './mirrors.rows.ts'
import { findRepositoryById } from './repositories.rows.ts'
import {
  FetchError,
  type LfsRemote,
  lfsRemoteOf,
  openCredentials,
  openEndpoint,
  reachUpstream,
  TooLargeError,
  type Upstream,
} from './upstreams.ts'

/** Fetches that run at a time. Each takes two processes, and at most `maxPushBytes` of the disk. */
const MAX_UNDER_WAY = 4

/** More of them, each the only one of its owner. */
const FIRST_UNDER_WAY = 12

/** Of these, fetches for mirrors of one account. */
const MAX_UNDER_WAY_PER_OWNER = 2

/**
 * Schedules the synchronisation of a mirror as soon as possible. Several requests before it begins
 * have the effect of one.
 */
export async function requestMirrorSync(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'write')
  checkNotArchived(repository)
  if (repository.mirror === 0) throw new DomainError('REPOSITORY_NOT_MIRROR')
  await transaction(app.db, (tx) => rows.requestSync(tx, repository.id, app.clock.now()))
  app.signals.mirrors.notify()
}

/**
 * Returns the changes that an edit makes to the row of a mirror. The caller must notify the signal
 * for mirrors after it stores them.
 *
 * @param interval a duration as text. Undefined or empty for no change.
 * @param prune whether refs that the original does not have are deleted. Undefined for no change.
 */
export function mirrorChanges(
  app: ReposApp,
  interval: string | undefined,
  prune: boolean | undefined,
): MirrorChanges {
  const changes: MirrorChanges = {}
  if (interval) {
    changes.interval_seconds = parseMirrorInterval(interval)
    changes.next_sync_time = nextSyncTime(app, changes.interval_seconds)
  }
  if (prune !== undefined) changes.prune = prune ? 1 : 0
  return changes
}

/**
 * Returns when a mirror that is synchronised now is due again, in Unix milliseconds. Null if only
 * on request.
 */
export function nextSyncTime(app: ReposApp, intervalSeconds: number): number | null {
  return intervalSeconds === 0 ? null : app.clock.now() + intervalSeconds * 1000
}

/** Starts a worker that synchronises mirrors when they are due. */
export function startMirrors(app: ReposApp): DueWorker {
  return startDueWork(app, synchronisations(app))
}

function synchronisations(app: ReposApp): DueWork {
  return {
    failure: 'a mirror could not be synchronised',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_OWNER,
    firstPlaces: FIRST_UNDER_WAY,
    signal: app.signals.mirrors,
    ...rows.mirrorQueue(app.db),
    run: (id, until) => syncMirror(app, id, until),
  }
}

/**
 * Synchronises a mirror and records the result. After a crash before that, the server synchronises
 * the mirror again when it starts.
 */
async function syncMirror(app: ReposApp, repositoryId: number, until: AbortSignal): Promise<void> {
  const mirror = await rows.findMirror(app.db, repositoryId)
  if (!mirror) return
  const result = await follow(app, mirror, until)
  if (until.aborted) return
  await transaction(app.db, (tx) =>
    rows.recordSync(tx, mirror, result, followingSyncTime(app, mirror, result.error !== '')),
  )
}

/** Returns when a mirror is due again, in Unix milliseconds; null if only on request. */
function followingSyncTime(app: ReposApp, mirror: Mirror, isFailed: boolean): number | null {
  const next = nextSyncTime(app, mirror.interval_seconds)
  if (next === null || !isFailed) return next
  const now = app.clock.now()
  return Math.max(
    next,
    now + restAfterFailureMs(now, mirror.last_sync_time ?? nowSeconds(app.clock)),
  )
}

async function follow(app: ReposApp, mirror: Mirror, until: AbortSignal): Promise<rows.SyncResult> {
  const { repository_id: id, change_time } = mirror
  try {
    const repository = await findRepositoryById(app.db, id)
    // Archived repositories do not change.
    if (repository?.archive_time !== null) return { error: mirror.error }
    if (await app.disk.isFull()) return { error: 'the disk of the server is full' }
    const isChanged = await fetchChanges(app, mirror, until)
    const now = nowSeconds(app.clock)
    return { error: '', last_sync_time: now, change_time: isChanged ? now : change_time }
  } catch (error) {
    if (error instanceof FetchError) return { error: error.message }
    const isDeleted = (await findRepositoryById(app.db, id)) === undefined
    if (!isDeleted && !until.aborted)
      app.log.error({ err: error, repository: id }, 'a mirror could not be synchronised')
    return { error: 'the server failed' }
  }
}

/** @returns whether any ref has changed. */
async function fetchChanges(app: ReposApp, mirror: Mirror, until: AbortSignal): Promise<boolean> {
  const upstream = {
    url: new URL(mirror.url),
    credentials: openCredentials(app, mirror.credentials),
  }
  const prune = mirror.prune === 1
  const lfs =
    mirror.lfs === 1 ? lfsRemoteOf(upstream, openEndpoint(app, mirror.lfs_endpoint)) : undefined
  const following = { prune, alsoRefs: undefined, lfs, until }
  return fetchUpstream(app, mirror.repository_id, upstream, following)
}

/** How a repository follows another one. */
interface Following {
  /** Whether refs that the other repository does not have are deleted. */
  readonly prune: boolean
  /**
   * More refs of the other repository, with one `*`, which become refs below `IMPORT_REFS`. Then the
   * default branch becomes that of the other repository, too.
   */
  readonly alsoRefs: string | undefined
  /** From where the objects of Git LFS come along; undefined where they do not. */
  readonly lfs: LfsRemote | undefined
  readonly until: AbortSignal
}

/**
 * Fetches new objects of a repository on another server into a quarantine, then updates the refs.
 *
 * @returns whether any branch or tag has changed.
 * @throws FetchError
 */
export async function fetchUpstream(
  app: ReposApp,
  id: number,
  upstream: Upstream,
  { prune, alsoRefs, lfs, until }: Following,
): Promise<boolean> {
  const quota = await quotaOfRepository(app, undefined, id)
  const maxBytes = quota && (await transferBytes(quota))
  const draft = await draftSync(app.git, id)
  try {
    const defaultBranch = await reachUpstream(
      app,
      { ...upstream, maxBytes },
      until,
      async (reached) => {
        await reached.fetchInto(draft, prune, alsoRefs)
        return alsoRefs ? reached.readDefaultBranch(draft) : undefined
      },
    )
    const updates = await compareRefs(app.git, id, draft)
    const kept = await compareImportRefs(app.git, id, draft)
    if (updates.length + kept.length === 0) return false
    const bytes = quota ? await measureDraft(draft) : 0
    await quota?.check(app.db, bytes)
    if (lfs && app.settings.lfs) await fetchNewObjects(app, id, lfs, { draft, until })
    await releaseObjects(app.git, id, draft)
    if (kept.length > 0) await moveRefs(app, await app.coordination.lease(), id, kept)
    if (defaultBranch) await setDefaultBranch(app.git, id, defaultBranch)
    await applyFetched(app, id, updates, quota && reservationOf(quota, bytes))
    return updates.length > 0
  } catch (error) {
    const isTooLarge = error instanceof TooLargeError && maxBytes !== undefined
    const isRefused = error instanceof DomainError && error.reason === 'QUOTA_EXCEEDED'
    throw isTooLarge || isRefused ? new FetchError(QUOTA_EXCEEDED) : error
  } finally {
    await discardDraft(draft)
  }
}

/** Fetches the objects of Git LFS that new commits need, before refs move. */
async function fetchNewObjects(
  app: ReposApp,
  id: number,
  remote: LfsRemote,
  { draft, until }: { readonly draft: string; readonly until: AbortSignal },
): Promise<void> {
  const repository = await findRepositoryById(app.db, id)
  if (!repository) return
  // The repository is the alternate of the draft.
  const range = ['--all', '--not', '--alternate-refs']
  const target = { repository, caller: undefined, folder: draft, range, signal: until }
  await fetchLfsObjects(app, remote, target)
}

/** Deletions come first, since a branch `a` must be deleted before a branch `a/b` can exist. */
async function applyFetched(
  app: ReposApp,
  id: number,
  updates: readonly RefUpdate[],
  reservation: Reservation | undefined,
): Promise<void> {
  const gone = updates.filter(({ to }) => to === undefined)
  const kept = updates.filter(({ to }) => to !== undefined)
  if (gone.length > 0) await applyUpdates(app, id, gone)
  if (kept.length > 0) await applyUpdates(app, id, kept, { pusherId: undefined, reservation })
}

/** The error of a mirror whose owner has too few bytes left. */
const QUOTA_EXCEEDED = 'QUOTA_EXCEEDED: the quota of the owner leaves too few bytes'

/** Bounds the load on the other server. */
const MIN_INTERVAL_SECONDS = 10 * 60

/** A longer interval is a mistake. */
const MAX_INTERVAL_SECONDS = 366 * 24 * 60 * 60

/** The interval of mirrors whose creator names none, as in compatible systems. */
export const DEFAULT_INTERVAL_SECONDS = 8 * 60 * 60

/** The time until the first repetition of a failed synchronisation. */
const MIN_REST_MS = MIN_INTERVAL_SECONDS * 1000

/** The longest time between two repetitions. */
const MAX_REST_MS = 24 * 60 * 60 * 1000

/** Seconds in the units of Go's durations (https://pkg.go.dev/time#ParseDuration). */
const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['us', 1e-6],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
  ['m', 60],
  ['h', 60 * 60],
])

const DURATION = /^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/
const PART = /([\d.]+)([a-zµ]+)/g

const MAX_CHARACTERS = 50

/**
 * Parses the interval of a mirror in the format of Go's durations, such as `8h0m0s`.
 *
 * @returns whole seconds; 0 for no synchronisation.
 * @throws INVALID_MIRROR_INTERVAL when the text is not a duration, or is below ten minutes.
 */
export function parseMirrorInterval(text: string): number {
  const seconds = Math.floor(text.length > MAX_CHARACTERS ? Number.NaN : durationOf(text))
  const fits = seconds === 0 || (seconds >= MIN_INTERVAL_SECONDS && seconds <= MAX_INTERVAL_SECONDS)
  if (!fits)
    throw new DomainError('INVALID_MIRROR_INTERVAL', { interval: text.slice(0, MAX_CHARACTERS) })
  return seconds
}

function durationOf(text: string): number {
  if (text === '0') return 0
  if (!DURATION.test(text)) return Number.NaN
  const parts = [...text.matchAll(PART)]
  return parts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNIT_SECONDS.get(unit) ?? Number.NaN),
    0,
  )
}

/**
 * Returns how long a mirror rests after a failure: as long as it has failed, so that each rest is
 * twice as long as the one before.
 *
 * @param nowMs Unix milliseconds.
 * @param since the latest success, or the beginning, in Unix seconds.
 */
export function restAfterFailureMs(nowMs: number, since: number): number {
  return Math.min(Math.max(nowMs - since * 1000, MIN_REST_MS), MAX_REST_MS)
}

/** Formats seconds as Go formats durations. */
export function formatInterval(seconds: number): string {
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600),
    Math.floor((seconds % 3600) / 60),
    seconds % 60,
  ]
  if (hours > 0) return `${hours}h${minutes}m${rest}s`
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`
}
