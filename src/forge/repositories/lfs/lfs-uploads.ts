import {
  listReachablePointers,
  TooManyFilesError,
} from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import { FetchError, type LfsRemote } from '../lifecycle/upstreams.ts'
import type { ReposApp } from '../ports.ts'
import type { LfsObjectId } from './lfs-links.ts'
import { intactContents } from './lfs-networks.ts'
import { EMPTY_OID, lfsKey } from './lfs-objects.ts'
import {
  askRemote,
  IDLE_TIMEOUT_MS,
  isFinal,
  OBJECTS_AT_A_TIME,
  postJson,
  type RemoteAnswer,
  remoteRequestOf,
  TOTAL_TIMEOUT_MS,
} from './lfs-remotes.ts'
import type { LfsContent } from './schema.ts'

/** Objects that go to the server of a push mirror, before its refs move. */

/** Which objects go to a push mirror. */
interface LfsExport {
  readonly repositoryId: number
  /** Ids of commits whose objects the other server has. This server need not know them. */
  readonly known: readonly string[]
  readonly signal: AbortSignal
}

const LIMITS = { maxFiles: 1_000_000, timeoutMs: 10 * 60_000, priority: 'transfer' } as const

/**
 * Sends the objects that a push mirror lacks. Does nothing where the other server offers no Git LFS.
 *
 * @throws FetchError if the other server does not take an object; the reason of the signal
 */
export async function pushLfsObjects(
  app: ReposApp,
  remote: LfsRemote,
  { repositoryId: id, known, signal: until }: LfsExport,
): Promise<void> {
  const signal = AbortSignal.any([until, AbortSignal.timeout(TOTAL_TIMEOUT_MS)])
  const objects = await neededObjects(app, id, known)
  for (let start = 0; start < objects.length; start += OBJECTS_AT_A_TIME) {
    signal.throwIfAborted()
    const some = objects.slice(start, start + OBJECTS_AT_A_TIME)
    if (!(await pushSome(app, remote, { id, signal }, some))) return
  }
}

async function neededObjects(
  app: ReposApp,
  id: number,
  known: readonly string[],
): Promise<LfsObjectId[]> {
  const needed = new Map<string, LfsObjectId>()
  const range = ['--ignore-missing', '--branches', '--tags', '--not', ...known]
  const path = repositoryPath(app.git, id)
  try {
    for await (const { oid, bytes } of listReachablePointers(
      app.git.processes,
      path,
      range,
      LIMITS,
    ))
      if (oid !== EMPTY_OID) needed.set(oid, { oid, bytes })
  } catch (error) {
    if (!(error instanceof TooManyFilesError)) throw error
    throw new FetchError('the repository has too many files to look for objects of Git LFS')
  }
  return [...needed.values()]
}

/** Sends those of some objects that are here. Returns whether the other server offers Git LFS. */
async function pushSome(
  app: ReposApp,
  remote: LfsRemote,
  { id, signal }: { readonly id: number; readonly signal: AbortSignal },
  objects: readonly LfsObjectId[],
): Promise<boolean> {
  const oids = objects.map(({ oid }) => oid)
  const contents = await intactContents(app, [id], oids)
  const wanted = objects.filter(({ oid }) => contents.has(oid))
  if (wanted.length === 0) return true
  const answers = await askRemote(app, remote, { operation: 'upload', objects: wanted }, signal)
  if (!answers) return false
  for (const [oid, content] of contents) {
    const answer = answers.get(oid)
    if (answer) await pushObject(app, remote, content, answer, signal)
  }
  return true
}

/** Sends an object, unless the other server has it. */
async function pushObject(
  app: ReposApp,
  remote: LfsRemote,
  { oid, bytes, store }: LfsContent,
  { error, actions }: RemoteAnswer,
  signal: AbortSignal,
): Promise<void> {
  const upload = remoteRequestOf(remote, actions?.upload)
  if (error || (actions?.upload && !upload)) throw refused()
  if (!upload) return
  const opened = await app.objects.of(store).get(lfsKey(oid))
  if (!opened) throw new FetchError('an object of Git LFS is missing on this server')
  const headers = {
    'content-type': 'application/octet-stream',
    ...upload.headers,
    'content-length': String(bytes),
  }
  const request = { method: 'PUT', url: upload.url, headers, body: opened.content } as const
  try {
    const answer = await app.outbound.open(request, { idleTimeoutMs: IDLE_TIMEOUT_MS, signal })
    answer.body.destroy()
    if (answer.status >= 300) throw refused()
  } catch (err) {
    if (isFinal(err, signal)) throw err
    app.log.info({ err, oid, host: upload.url.host }, 'an LFS object was not sent')
    throw new FetchError('the Git LFS of the other server does not answer')
  } finally {
    opened.content.destroy()
  }
  const verify = remoteRequestOf(remote, actions?.verify)
  if (!verify) return
  const { status } = await postJson(app, verify, { oid, size: bytes }, signal)
  if (status >= 300) throw refused()
}

function refused(): FetchError {
  return new FetchError('the Git LFS of the other server refuses an object')
}
