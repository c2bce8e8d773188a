import { randomBytes } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import { checkNotArchived, openRepository } from '../access/permissions.ts'
import { hasLfsObjects } from '../lfs/lfs-objects.rows.ts'
import { pushLfsObjects } from '../lfs/lfs-uploads.ts'
import type { ReposApp } from '../ports.ts'
import { recordObserver } from '../refs/ref-index.ts'
import type { PushMirror } from '../schema.ts'
import * as rows from './mirrors.rows.ts'
import { DEFAULT_INTERVAL_SECONDS, parseMirrorInterval, restAfterFailureMs } from './mirrors.ts'
import { findRepositoryById } from './repositories.rows.ts'
import {
  checkUpstream,
  FetchError,
  lfsRemoteOf,
  openCredentials,
  pushUpstream,
  reachUpstream,
  readUpstream,
  sealCredentials,
  type Upstream,
} from './upstreams.ts'

export type { PushMirror }

/** Each mirror costs a push after every change. */
const MAX_PUSH_MIRRORS = 10

/** Pushes that run at a time. Each takes two processes. */
const MAX_UNDER_WAY = 4

/** More of them, each the only one of its owner. */
const FIRST_UNDER_WAY = 12

/** Of these, pushes for repositories of one account. */
const MAX_UNDER_WAY_PER_OWNER = 2

/** A push mirror to add. Empty texts mean the default. */
interface PushMirrorDraft {
  readonly address: string
  readonly username: string
  readonly password: string
  readonly interval: string
  readonly syncOnCommit: boolean
}

/** A page of push mirrors, and the name of their repository. */
interface PushMirrorPage {
  readonly mirrors: readonly PushMirror[]
  readonly repositoryName: string
  /** Length of the whole list. */
  readonly total: number
}

/** A push mirror, and the name of its repository. */
export interface PushMirrorView {
  readonly mirror: PushMirror
  readonly repositoryName: string
}

/** Lists the push mirrors of a repository, oldest first. For administrators of the repository. */
export async function listPushMirrors(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { offset, limit }: Page,
): Promise<PushMirrorPage> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  return {
    mirrors: await rows.listPushMirrors(app.db, repository.id, offset, limit),
    repositoryName: repository.name,
    total: await rows.countPushMirrors(app.db, repository.id),
  }
}

/** Adds a push mirror, to which the first push is made soon after. */
export async function addPushMirror(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  draft: PushMirrorDraft,
): Promise<PushMirrorView> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const upstream = readUpstream({ ...draft, token: '' })
  await checkUpstream(app, caller, upstream)
  const interval_seconds = draft.interval
    ? parseMirrorInterval(draft.interval)
    : DEFAULT_INTERVAL_SECONDS
  const mirror = await transaction(app.db, async (tx) => {
    if ((await rows.countPushMirrors(tx, repository.id)) >= MAX_PUSH_MIRRORS)
      throw new DomainError('TOO_MANY_PUSH_MIRRORS', { limit: String(MAX_PUSH_MIRRORS) })
    return rows.insertPushMirror(tx, {
      repository_id: repository.id,
      remote_name: `remote_mirror_${randomBytes(8).toString('hex')}`,
      url: upstream.url.href,
      credentials: sealCredentials(app, upstream),
      interval_seconds,
      sync_on_commit: draft.syncOnCommit ? 1 : 0,
      next_sync_time: app.clock.now(),
      last_sync_time: null,
      error: '',
      create_time: nowSeconds(app.clock),
    })
  })
  app.signals.pushMirrors.notify()
  return { mirror, repositoryName: repository.name }
}

/** Returns a push mirror of a repository. */
export async function getPushMirror(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  remoteName: string,
): Promise<PushMirrorView> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const mirror = await rows.findPushMirror(app.db, repository.id, remoteName)
  if (!mirror) throw new DomainError('PUSH_MIRROR_NOT_FOUND')
  return { mirror, repositoryName: repository.name }
}

/** Deletes a push mirror. The repository on the other server stays as it is. */
export async function deletePushMirror(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  remoteName: string,
): Promise<void> {
  const { mirror } = await getPushMirror(app, caller, name, remoteName)
  await transaction(app.db, (tx) => rows.deletePushMirror(tx, mirror.id))
}

/** Schedules a push to each mirror of a repository as soon as possible. */
export async function requestPushMirrorSync(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  await transaction(app.db, (tx) => rows.requestPushes(tx, repository.id, 'all', app.clock.now()))
  app.signals.pushMirrors.notify()
}

/** Starts a worker that pushes to mirrors when they are due. */
export function startPushMirrors(app: ReposApp): DueWorker {
  return startDueWork(app, pushes(app))
}

function pushes(app: ReposApp): DueWork {
  return {
    failure: 'a push mirror could not be updated',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_OWNER,
    firstPlaces: FIRST_UNDER_WAY,
    signal: app.signals.pushMirrors,
    ...rows.pushMirrorQueue(app.db),
    run: (id, until) => pushTo(app, id, until),
  }
}

/**
 * Pushes to a mirror and records the result. After a crash before that, the server pushes again when
 * it starts, which changes nothing that the mirror has already.
 */
async function pushTo(app: ReposApp, id: number, until: AbortSignal): Promise<void> {
  const mirror = await rows.findPushMirrorById(app.db, id)
  if (!mirror) return
  const result = await tryPush(app, mirror, until)
  if (until.aborted) return
  await transaction(app.db, (tx) =>
    rows.recordPush(tx, mirror, result, nextPushTime(app, mirror, result.error !== '')),
  )
}

async function tryPush(
  app: ReposApp,
  mirror: PushMirror,
  until: AbortSignal,
): Promise<rows.PushResult> {
  const { repository_id: id, url } = mirror
  try {
    const credentials = openCredentials(app, mirror.credentials)
    const upstream = { url: new URL(url), credentials }
    await pushObjectsTo(app, upstream, until, id)
    await pushUpstream(app, upstream, until, id)
    return { error: '', last_sync_time: nowSeconds(app.clock) }
  } catch (error) {
    if (error instanceof FetchError) return { error: error.message }
    const isDeleted = (await findRepositoryById(app.db, id)) === undefined
    if (!isDeleted && !until.aborted)
      app.log.error({ err: error, repository: id }, 'a push mirror could not be updated')
    return { error: 'the server failed' }
  }
}

/** Sends the objects of Git LFS that new commits need, before refs move there. */
async function pushObjectsTo(
  app: ReposApp,
  upstream: Upstream,
  signal: AbortSignal,
  repositoryId: number,
): Promise<void> {
  if (!app.settings.lfs || !(await hasLfsObjects(app.db, repositoryId))) return
  const folder = repositoryPath(app.git, repositoryId)
  const known = await reachUpstream(app, upstream, signal, (reached) => reached.readTips(folder))
  await pushLfsObjects(app, lfsRemoteOf(upstream, ''), { repositoryId, known, signal })
}

/**
 * Returns when a mirror is due again, in Unix milliseconds; null if only on request. A change that
 * should be pushed at once is tried again before the interval ends.
 */
function nextPushTime(app: ReposApp, mirror: PushMirror, isFailed: boolean): number | null {
  const { interval_seconds, sync_on_commit, last_sync_time, create_time } = mirror
  const now = app.clock.now()
  const intervalMs = interval_seconds * 1000
  if (!isFailed) return intervalMs === 0 ? null : now + intervalMs
  if (intervalMs === 0 && sync_on_commit === 0) return null
  const restMs = restAfterFailureMs(now, last_sync_time ?? create_time)
  return now + (sync_on_commit === 1 ? restMs : Math.max(intervalMs, restMs))
}

/** Requests pushes in the transactions that record how refs moved, so that none is forgotten. */
export const pushMirrorRefObserver = recordObserver(async (app, { id }) => {
  return {
    async prepare({ moved }) {
      return {
        async record(tx) {
          if (moved.length === 0) return
          await rows.requestPushes(tx, id, 'after changes', app.clock.now())
        },
        afterCommit() {
          app.signals.pushMirrors.notify()
        },
      }
    },
    finish() {},
  }
})
