import type { Readable } from 'node:stream'
import { transaction } from '../../../platform/database/database.ts'
import {
  listReachablePointers,
  TooManyFilesError,
} from '../../../platform/git/objects/lfs-pointers.ts'
import type { SignedIn } from '../../core/access.ts'
import { FetchError, type LfsRemote } from '../lifecycle/upstreams.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { RESERVE_BYTES } from './lfs-batches.ts'
import type { LfsObjectId } from './lfs-links.ts'
import { intactContents } from './lfs-networks.ts'
import { keepLfsObjects } from './lfs-objects.rows.ts'
import { EMPTY_OID, storeLfsObject } from './lfs-objects.ts'
import {
  askRemote,
  IDLE_TIMEOUT_MS,
  isFinal,
  OBJECTS_AT_A_TIME,
  type RemoteAnswer,
  remoteRequestOf,
  TOTAL_TIMEOUT_MS,
} from './lfs-remotes.ts'

/** Objects that come from the server of an imported repository. */

/** Where objects go, and which ones. */
interface LfsImport {
  readonly repository: Repository
  /** Whom the bytes count for; undefined for the server. */
  readonly caller: SignedIn | undefined
  /** Path of the repository or draft with the pointers, and the revisions that are searched. */
  readonly folder: string
  readonly range: readonly string[]
  readonly signal: AbortSignal
}

const LIMITS = { maxFiles: 1_000_000, timeoutMs: 10 * 60_000, priority: 'transfer' } as const

/**
 * Fetches the objects of pointers that the repository lacks. What the other server does not have is left
 * out: its pointers stay. The log says how many.
 *
 * @throws QUOTA_EXCEEDED; FetchError if the other server cannot say what it has; the reason of the
 *   signal
 */
export async function fetchLfsObjects(
  app: ReposApp,
  remote: LfsRemote,
  { signal: until, ...rest }: LfsImport,
): Promise<void> {
  const signal = AbortSignal.any([until, AbortSignal.timeout(TOTAL_TIMEOUT_MS)])
  const target = { ...rest, signal }
  const { id } = target.repository
  const wanted = await wantedObjects(app, target)
  let missing = 0
  for (let start = 0; start < wanted.length; start += OBJECTS_AT_A_TIME) {
    signal.throwIfAborted()
    const some = wanted.slice(start, start + OBJECTS_AT_A_TIME)
    missing += await fetchSome(app, remote, target, some)
  }
  if (missing > 0)
    app.log.warn(
      { repository: id, host: remote.url.host, missing, wanted: wanted.length },
      'LFS objects of an import are missing',
    )
}

async function wantedObjects(
  app: ReposApp,
  { repository: { id }, folder, range }: LfsImport,
): Promise<LfsObjectId[]> {
  const wanted = new Map<string, LfsObjectId>()
  const { processes } = app.git
  try {
    for await (const { oid, bytes } of listReachablePointers(processes, folder, range, LIMITS))
      if (oid !== EMPTY_OID) wanted.set(oid, { oid, bytes })
  } catch (error) {
    if (!(error instanceof TooManyFilesError)) throw error
    app.log.warn({ repository: id }, 'an import has too many files to look for LFS objects')
    return []
  }
  return [...wanted.values()]
}

/** Fetches those of some objects that are not there. Returns how many are still missing. */
async function fetchSome(
  app: ReposApp,
  remote: LfsRemote,
  target: LfsImport,
  objects: readonly LfsObjectId[],
): Promise<number> {
  const { id } = target.repository
  const oids = objects.map(({ oid }) => oid)
  const stored = await intactContents(app, [id], oids)
  // The collection removes no object that new commits need.
  await transaction(app.db, (tx) => keepLfsObjects(tx, id, [...stored.keys()]))
  const lacking = objects.filter(({ oid }) => !stored.has(oid))
  const fitting = lacking.filter(({ bytes }) => bytes <= app.settings.maxLfsBytes)
  let missing = lacking.length - fitting.length
  if (fitting.length === 0) return missing
  const asked = { operation: 'download', objects: fitting } as const
  const answers = await askRemote(app, remote, asked, target.signal)
  for (const object of fitting) {
    const answer = answers?.get(object.oid)
    if (!answer || !(await fetchObject(app, remote, target, object, answer))) missing += 1
  }
  return missing
}

/**
 * Fetches and stores an object. Returns false if the other server does not give it.
 *
 * @throws QUOTA_EXCEEDED; FetchError for a full disk
 */
async function fetchObject(
  app: ReposApp,
  remote: LfsRemote,
  { repository, caller, signal }: LfsImport,
  object: LfsObjectId,
  answer: RemoteAnswer,
): Promise<boolean> {
  const request = remoteRequestOf(remote, answer.actions?.download)
  if (!request) return false
  if (!(await app.disk.hasRoom(object.bytes + RESERVE_BYTES)))
    throw new FetchError('the disk of the server is full')
  let body: Readable | undefined
  try {
    const options = { idleTimeoutMs: IDLE_TIMEOUT_MS, signal }
    const opened = await app.outbound.open({ ...request, method: 'GET' }, options)
    body = opened.body
    if (opened.status !== 200) return false
    await storeLfsObject(app, { repository, caller }, object, body)
    return true
  } catch (err) {
    if (isFinal(err, signal)) throw err
    const { host } = request.url
    app.log.info({ err, oid: object.oid, host }, 'an LFS object was not fetched')
    return false
  } finally {
    body?.destroy()
  }
}
