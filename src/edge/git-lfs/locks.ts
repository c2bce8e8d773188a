import type { JsonObject } from '@bufbuild/protobuf'
import type { App } from '../../forge/app.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { verifyPageToken, writePageToken } from '../../forge/core/wire/lists.ts'
import type { LfsNeed, OpenLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import {
  listLocks,
  lockPath,
  type OwnedLock,
  unlock,
} from '../../forge/repositories/lfs/lfs-locks.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { answerJson, checkMediaTypes, readJson } from './answers.ts'
import { branchIn, refIn, textOf } from './batches.ts'
import type { LfsEndpoint } from './routes.ts'

/** Locks of a list. */
const MAX_PAGE = 100

/** A request about locks (git-lfs, docs/api/locking.md). */
export type LockEndpoint = Extract<
  LfsEndpoint,
  { readonly kind: 'list locks' | 'lock' | 'verify locks' | 'unlock' }
>

interface LockExchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly query: URLSearchParams
  /** Opens the repository of the request. */
  readonly open: (need: LfsNeed) => Promise<OpenLfs>
}

/** Answers a request about locks. */
export async function answerLocks(
  app: App,
  endpoint: LockEndpoint,
  { request, response, query, open }: LockExchange,
): Promise<void> {
  checkMediaTypes(request)
  if (endpoint.kind === 'list locks') {
    const body = await lockList(app, await open({ level: 'read' }), query)
    return answerJson(response, 200, body)
  }
  const body = await readJson(request)
  switch (endpoint.kind) {
    case 'lock': {
      const opened = await open({ level: 'write' })
      const { isNew, lock } = await lockPath(app, opened, textOf(body.path), refIn(body))
      if (isNew) return answerJson(response, 201, { lock: lockJson(lock) })
      const taken = { lock: lockJson(lock), message: 'already created lock' }
      return answerJson(response, 409, taken)
    }
    case 'verify locks':
      return answerJson(
        response,
        200,
        await verifiedLocks(app, await openToVerify(open, branchIn(body)), body),
      )
    case 'unlock': {
      const opened = await open({ level: 'write' })
      const id = lockIdOf(endpoint.id)
      if (id === undefined) throw new LfsError(404, 'the lock does not exist')
      const lock = await unlock(app, opened, id, body.force === true)
      return answerJson(response, 200, { lock: lockJson(lock) })
    }
  }
}

/** Returns what clients are told of a lock: a time in seconds (RFC 3339), and a username. */
export function lockAnswer({ id, path, create_time, user }: OwnedLock) {
  const lockedAt = new Date(create_time * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  return { id: String(id), path, lockedAt, owner: user.username }
}

function lockJson(lock: OwnedLock): JsonObject {
  const { lockedAt, owner, ...rest } = lockAnswer(lock)
  return { ...rest, locked_at: lockedAt, owner: { name: owner } }
}

/** Returns a number that may be the id of a lock; undefined for any other text. */
export function lockIdOf(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

async function lockList(app: App, open: OpenLfs, query: URLSearchParams): Promise<JsonObject> {
  const [id, path] = [query.get('id'), query.get('path')?.replace(/^\//, '')]
  const wanted = id === null ? undefined : lockIdOf(id)
  if (id !== null && wanted === undefined) return { locks: [] }
  const page = { cursor: query.get('cursor') ?? '', limit: Number(query.get('limit') ?? 0) }
  const { locks, cursor } = await lockPage(app, open, page, { id: wanted, path })
  return { locks: locks.map(lockJson), ...nextOf(cursor) }
}

/**
 * Opens the repository for a push, which verifies locks.
 *
 * @throws LfsError 403; what `open` throws
 */
export async function openToVerify(
  open: LockExchange['open'],
  branch: string | undefined,
): Promise<OpenLfs> {
  try {
    return await open({ level: 'write', branch })
  } catch (error) {
    const isReader = error instanceof DomainError && error.reason === 'REPOSITORY_ACCESS_DENIED'
    throw isReader ? new LfsError(403, 'You must have push access to verify locks') : error
  }
}

async function verifiedLocks(app: App, open: OpenLfs, body: JsonObject): Promise<JsonObject> {
  const page = { cursor: textOf(body.cursor), limit: Number(body.limit ?? 0) }
  const { locks, cursor } = await lockPage(app, open, page, {})
  const answers = (isOurs: boolean) =>
    locks.filter((lock) => isOwnLock(open, lock) === isOurs).map(lockJson)
  return { ours: answers(true), theirs: answers(false), ...nextOf(cursor) }
}

/** Returns whether a lock is that of the caller. */
export function isOwnLock({ caller }: OpenLfs, { user_id }: OwnedLock): boolean {
  return caller.kind === 'user' && user_id === caller.user.id
}

function nextOf(cursor: string | undefined): JsonObject {
  return cursor === undefined ? {} : { next_cursor: cursor }
}

interface LockPage {
  readonly locks: readonly OwnedLock[]
  /** The cursor of the next page; undefined for the last one. */
  readonly cursor: string | undefined
}

/**
 * Returns a page of the locks of a repository.
 *
 * @throws LfsError 422 for a cursor of another list.
 */
export async function lockPage(
  app: App,
  open: OpenLfs,
  { cursor, limit }: { readonly cursor: string; readonly limit: number },
  filter: { readonly id?: number | undefined; readonly path?: string | undefined },
): Promise<LockPage> {
  const list = { method: 'LfsLocks', parent: String(open.repository.id), filter: '' }
  const [after] = cursor === '' ? [0] : (verifyPageToken(app, list, cursor) ?? [])
  if (after === undefined) throw new LfsError(422, 'the cursor does not belong to this list')
  const size = limit >= 1 && limit < MAX_PAGE ? Math.floor(limit) : MAX_PAGE
  const found = await listLocks(app, open, { ...filter, after }, size + 1)
  const locks = found.slice(0, size)
  const last = locks.at(-1)
  const isLast = found.length <= size || !last
  return { locks, cursor: isLast ? undefined : writePageToken(app, list, [last.id]) }
}
